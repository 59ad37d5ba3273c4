/* A folded chain at given weights. Read search_rounds(): bound (raise_bound, lift), a choice with
 * copies tied (tie), values that go (shrink), then the exact answer among what is left (finish)
 * or near the bound (search_near). */
#include "chain/solve.h"
#include "chain/ring_solve.h"
#include "chain/separator.h"

#include <string.h>

/* A value of a copy bears on that one's cost and its neighbours'. */
enum { MOST_ROUNDS = 24, NEAR_WORK = 1 << 20, LIFT_PART = 2, TOUCHED = 3 };
enum { END_PART = 4, END_PASSES = 32, END_ROUNDS = 4 };
static const double LIFT_GAP = 0.02; /* of what there is to find */

/* So near the bound it ends after so many rounds that change little; not before so many entries
 * were read. */
static const double STALL_GAP = 0.02;
enum { MOST_STALLS = 2, STALL_WORK = 1 << 23 };

/* With a choice this near the bound, none is looked for by tying copies. */
static const double NEAR_ENOUGH = 1e-5;

/* One search over a chain. */
typedef struct search {
    const pl_chain *chain;
    const pl_search_options *options;
    pl_cost weights;
    pl_ring *ring;
    pl_net *ends;
    pl_minimum found;
    double lift;    /* what each copy between the ends costs at least above the ring's bound */
    pl_net *lifted; /* the ends with the potentials of then                                  */
    int rounds, depth;
    int next_tie, wait;    /* the round of the next tie; rounds after one that found nothing */
    pl_solve_pace pace[2]; /* of the ring, of its ends */
    pl_arena *out, *tmp;
} search;

static int64_t effort_left(const search *s)
{
    int64_t used = s->found.work + s->ring->work;
    if (s->found.value && pl_solve_is_late(s->options)) return 0;
    return s->options->effort && used < s->options->effort ? s->options->effort - used
           : s->options->effort                            ? 0
                                                           : INT64_MAX;
}

static bool offer(search *s, int *value)
{
    double cost = value ? pl_chain_weighted(s->chain, s->weights, value) : INFINITY;
    if (cost >= s->found.cost) return false;
    s->found.cost = cost;
    s->found.value = value;
    return true;
}

static bool is_done(const search *s)
{
    return s->found.bound >= pl_solve_goal(s->found.cost, s->options);
}

/* A bound of what is left: what has gone is no better than the goal. */
static void raise_found(search *s, double bound)
{
    bound = fmin(bound, pl_solve_goal(s->found.cost, s->options));
    s->found.bound = fmax(s->found.bound, bound);
}

/* Rounds of passes up to the next look at whether they pay; the chain's bound is so many times as
 * large. */
static bool raise(search *s, pl_net *net, double times, pl_solve_pace *pace)
{
    bool pays = true;
    for (bool looked = false; pays && !looked && net->work < effort_left(s);) {
        looked = pace->n + 1 >= pace->next;
        pl_net_round(net, NULL);
        double bound = fmax(s->found.bound, times * net->bound);
        pays = bound < pl_solve_goal(s->found.cost, s->options) &&
               pl_solve_goes_on(pace, times * net->bound, s->found.cost) &&
               6 * pace->n < s->options->passes;
    }
    s->found.work += net->work;
    net->work = 0;
    return pays;
}

/* Potentials of the ring, then of the ends. */
static bool raise_bound(search *s)
{
    bool pays = raise(s, s->ring->net, s->chain->copies, &s->pace[0]);
    pl_net *ends = pl_ring_ends(s->ring, s->depth, 0, s->tmp);
    if (s->ends) pl_ring_go_on(s->ring, ends, s->ends);
    s->ends = ends;
    pays |= raise(s, ends, 1, &s->pace[1]);
    raise_found(s, ends->bound);
    pl_ring_settle(s->ring, s->tmp);
    s->lift = 0;
    return pays && effort_left(s) > 0;
}

/* Of a search within this one. */
static pl_search_options part_options(const search *s, int part)
{
    pl_search_options o = *s->options;
    o.gap = LIFT_GAP;
    o.start = NULL;
    o.effort = s->found.work / part;
    if (o.effort > effort_left(s)) o.effort = effort_left(s);
    if (o.work_limit > o.effort) o.work_limit = o.effort;
    return o;
}

/* What a copy costs at least with the potentials as they are, whatever its neighbours choose:
 * nothing, as far as passes can see. A search of one copy sees more, and what it finds every copy
 * but the first and the last costs. False: there is no such copy. */
static bool lift_copies(search *s)
{
    const pl_separator sep = pl_separator_of(s->ring, s->tmp);
    bool *fixed = PL_NEW_N(s->tmp, bool, sep.n_hubs + s->ring->n_block + sep.n_left + sep.n_right);
    pl_net *cell = pl_separator_cell(s->ring, &sep, fixed, s->tmp);
    cell = pl_net_keep(cell, pl_net_keeps(cell, s->tmp), NULL, true, s->tmp); /* links forbid */
    if (!cell) return false;
    const pl_search_options options = part_options(s, LIFT_PART);
    const pl_minimum found = pl_solve_net(cell, &options, s->tmp);
    s->found.work += found.work;
    s->lift = fmax(found.bound, 0);
    return true;
}

/* The ends in the same way, with all other copies lifted; only passes where they are large. */
static void lift_ends(search *s, double others)
{
    pl_net *ends = s->lifted = pl_ring_ends(s->ring, 1, 0, s->tmp);
    pl_search_options options = part_options(s, END_PART);
    const double left = s->found.cost - ends->bound - others;
    double bound = -INFINITY;
    if (left > 0 && left < INFINITY) options.gap *= left / fmax(left, fabs(ends->bound));
    if (END_PASSES * pl_solve_entries(ends) < (double)options.effort) {
        const pl_minimum found = pl_solve_net(ends, &options, s->tmp);
        s->found.work += found.work;
        bound = found.bound;
    } else {
        for (int i = 0; i < END_ROUNDS; i++) pl_net_round(ends, NULL);
        s->found.work += ends->work;
    }
    raise_found(s, fmax(bound, ends->bound) + others);
}

static void lift(search *s)
{
    const int inner = s->chain->copies - 2;
    if (inner > 0 && !is_done(s) && lift_copies(s)) lift_ends(s, inner * s->lift);
}

/* All copies alike, each of its best values: a choice that is near the best in most chains. */
static void tie(search *s)
{
    const pl_net *one = s->ring->net;
    double gap = s->found.cost - s->found.bound;
    if (gap <= NEAR_ENOUGH * fabs(s->found.bound) || s->rounds < s->next_tie) return;
    s->next_tie = s->rounds + s->wait;
    s->wait *= 2;
    bool **keep = pl_net_keeps(one, s->tmp);
    for (int v = 0; v < one->n; v++) {
        double *least = PL_NEW_N(s->tmp, double, one->size[v]);
        for (int x = 0; x < one->size[v]; x++) least[x] = pl_ring_least(s->ring, s->ends, v, x);
        pl_solve_best(least, one->size[v], keep[v], s->tmp);
    }
    pl_ring *best = pl_ring_keep(s->ring, keep, NULL, s->tmp);
    pl_net *tied = best ? pl_ring_tie(best, s->tmp) : NULL;
    if (!tied) return;
    pl_search_options options = *s->options;
    options.gap = fmax(options.gap, NEAR_ENOUGH);
    options.node_limit = 20;
    options.start = NULL;
    options.effort = s->found.work / 4;
    pl_minimum found = pl_solve_net(tied, &options, s->tmp);
    s->found.work += found.work;
    if (!found.value) return;
    if (offer(s, pl_chain_untie(s->chain, found.value, s->out))) s->wait = 1;
}

/* The bound that leaves about `each` values per variable of the block. */
static double find_threshold(search *s, double each)
{
    int n = 0, first = s->ring->n_outside, b = s->ring->n_block;
    for (int v = 0; v < b; v++) n += s->ends->size[first + v];
    double *least = PL_NEW_N(s->tmp, double, n);
    n = 0;
    for (int v = first; v < first + b; v++)
        for (int x = 0; x < s->ends->size[v]; x++)
            least[n++] = pl_ring_least(s->ring, s->ends, v, x);
    return pl_solve_nth(least, n, each * b);
}

/* A bound of all but the copies of a run, which lie between the first and the last one. */
static double bound_beside_run(search *s)
{
    if (s->depth == 1) return s->ends->bound;
    pl_net *ends = pl_ring_ends(s->ring, 1, 0, s->tmp);
    pl_net_round(ends, NULL);
    s->found.work += ends->work;
    return ends->bound;
}

/* The exact answer among a ring's values; false: the tables are too large. */
static bool try_run(search *s, const pl_ring *ring, double most, int64_t work_limit)
{
    double slack = s->options->no_bound ? INFINITY : most - bound_beside_run(s);
    pl_search_options options = *s->options;
    if (work_limit > effort_left(s)) work_limit = effort_left(s);
    if (work_limit < options.work_limit) options.work_limit = work_limit;
    pl_ring_answer run = pl_ring_solve(ring, slack, &options, s->out);
    s->found.work += run.work;
    if (!run.fits) return false;
    offer(s, run.value);
    return true;
}

/* Thresholds from high to low until what is below one can be searched: a bound, or -INFINITY. */
static double search_near(search *s)
{
    static const double each[] = { 8, 4, 2, 1.3, 1 };
    double tried = INFINITY;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        double most = fmax(find_threshold(s, each[i]), s->ends->bound);
        most = fmin(most, pl_solve_goal(s->found.cost, s->options));
        if (most >= tried) continue;
        bool **keep = pl_ring_below(s->ring, s->ends, tried = most, s->tmp);
        pl_ring *cut = pl_ring_keep(s->ring, keep, NULL, s->tmp);
        if (!cut || try_run(s, cut, most, NEAR_WORK)) return most;
    }
    return -INFINITY;
}

static void offer_start(search *s)
{
    int n = (int)pl_chain_variables(s->chain);
    int *value = pl_arena_get(s->out, (size_t)n, sizeof *value);
    memcpy(value, s->options->start, (size_t)n * sizeof *value);
    offer(s, value);
}

static int64_t count_values(const pl_net *net)
{
    int64_t n = 0;
    for (int v = 0; v < net->n; v++) n += net->size[v];
    return n;
}

/* All other copies cost what they were lifted by. */
static void keep_lifted(search *s, double most, bool **keep)
{
    double others = fmax(s->chain->copies - 2 - TOUCHED, 0) * s->lift;
    bool **more = pl_ring_below(s->ring, s->lifted, most - others, s->tmp);
    for (int v = 0; v < s->ring->net->n; v++)
        for (int x = 0; x < s->ring->net->size[v]; x++) keep[v][x] &= more[v][x];
}

/* Only what could be better than the incumbent stays. False when that is nothing. Dominance waits
 * until bounds have made the tables small. */
static bool shrink(search *s)
{
    double most = pl_solve_goal(s->found.cost, s->options);
    bool **keep = pl_ring_below(s->ring, s->ends, most, s->tmp);
    if (s->lift > 0) keep_lifted(s, most, keep);
    if (pl_solve_may_dominate(s->ends, s->found.work, s->options))
        pl_ring_dominate(s->ring, keep, s->tmp);
    pl_ring *cut = pl_ring_keep(s->ring, keep, &s->ends, s->tmp);
    if (!cut)
        s->found.bound = pl_solve_goal(s->found.cost, s->options);
    else
        s->ring = cut;
    return cut;
}

/* Whether what is left could be searched exactly. */
static bool finish(search *s, int64_t work_limit)
{
    double goal = pl_solve_goal(s->found.cost, s->options);
    if (!try_run(s, s->ring, goal, work_limit)) return false;
    s->found.bound = pl_solve_goal(s->found.cost, s->options); /* the rest is no better */
    return true;
}

/* Each round needs a better bound or a better choice than the last. Where the bound hardly rises
 * more copies are written out, until all are. */
static void search_rounds(search *s)
{
    int stalls = 0;
    for (bool moved = true; s->rounds < MOST_ROUNDS; s->rounds++) {
        int64_t before = count_values(s->ring->net);
        double bound = s->found.bound, cost = s->found.cost;
        bool pays = raise_bound(s);
        tie(s);
        if (is_done(s) || !effort_left(s) || !shrink(s)) return;
        lift(s);
        if (s->lift > 0 && (is_done(s) || !shrink(s))) return;
        bool last = !moved && s->depth >= s->chain->copies;
        if (finish(s, last ? s->options->work_limit : s->found.work / 4) || last) return;
        if (!moved) {
            s->found.bound = fmax(s->found.bound, fmin(search_near(s), s->found.cost));
            if (is_done(s)) return;
        }
        bool better = s->found.cost < cost;
        bool rises = s->found.bound - bound > 0.05 * (cost - bound); /* not in the first round */
        bool fewer = (double)count_values(s->ring->net) < 0.9 * (double)before;
        if (!better && !rises && s->depth < s->chain->copies) s->depth *= 2;
        stalls = better || rises || fewer ? 0 : stalls + 1;
        if (stalls >= MOST_STALLS && s->found.work > STALL_WORK &&
            s->found.cost - s->found.bound < STALL_GAP * fabs(s->found.cost))
            return;
        moved = pays || !stalls;
    }
}

pl_minimum pl_chain_solve(const pl_chain *chain, pl_cost weights, const pl_search_options *options,
                          pl_arena *out)
{
    search s = { .chain = chain,
                 .options = options,
                 .weights = weights,
                 .depth = 1,
                 .wait = 1,
                 .out = out,
                 .tmp = pl_arena_new("chain search") };
    for (int i = 0; i < 2; i++) s.pace[i] = (pl_solve_pace){ 0, 1, -INFINITY };
    s.found = (pl_minimum){ NULL, INFINITY, -INFINITY, 0 };
    if (options->start) offer_start(&s);
    s.ring = pl_ring_new(chain, weights, s.tmp);
    if (!s.ring)
        s.found.bound = INFINITY;
    else if (options->no_bound)
        finish(&s, options->work_limit);
    else
        search_rounds(&s);
    if (s.ring) s.found.work += s.ring->work;
    pl_arena_free(s.tmp);
    if (s.found.bound > s.found.cost) s.found.bound = s.found.cost;
    return s.found;
}
