/* The fastest schedule that is found for given times within a memory. Ranks choose in the order of
 * the clock: I before F before W, by a rule of six numbers; these are tried one after the other,
 * from the best so far, until none of them helps or the bound is met. Of one stage a rank; what is
 * found on the cases of Qi et al. is in bench/schedules.csv. */
#include "base/each.h"
#include "schedules/bound.h"
#include "schedules/make.h"

#include <math.h>

/* The numbers of a rule, each 0 to 1. */
enum {
    FIRST, /* a rank rather waits for its first I, when that is near, than do another F: near in
              shares of F. What it waits then no rank before it waits                           */
    LATER, /* the same for other I                                                              */
    FILL,  /* it rather waits for what comes next than do a W: near in shares of W              */
    DRAIN, /* the same after its last F                                                         */
    LAST,  /* I of the last micro-batches, such a share of them, are not kept waiting by a W
              while the rank has time to spare                                                  */
    SLOPE, /* before its first I a rank does up to two F fewer than the rank before it          */
    N_NUMBERS
};
typedef struct rule {
    double of[N_NUMBERS];
} rule;

typedef struct rank_state {
    int begun, turned, done; /* passes F, I and W so far                                     */
    double now;              /* seconds: when it chooses next; INFINITY: it waits for others */
    double free;             /* when its last pass ended                                     */
    double held;             /* bytes                                                        */
    double first;            /* when its first F began                                       */
} rank_state;

typedef struct playing {
    const pl_pipeline_request *r;
    const rule *rule;
    double best, bound; /* seconds to be below, and that none is below */
    pl_pipeline *s;
    rank_state *rank;
    double *at[2]; /* [ranks * micro] when what F, and I, of it waits for is there; INFINITY: not
                      known yet */
    double longest;
    pl_arena *out;
} playing;

/* -- passes ------------------------------------------------------------------------------------ */

static double *arrival(const playing *x, int kind, int rank, int micro)
{
    return &x->at[kind == PL_PASS_I][(size_t)rank * (size_t)x->r->micro + (size_t)micro];
}

static double held_of(const playing *x, int rank)
{
    return pl_pass_held(x->r->costs, rank);
}

static double rest_of(const playing *x, int rank)
{
    return pl_pass_rest(x->r->costs, rank);
}

static double seconds(const playing *x, int kind, int rank)
{
    return pl_pass_seconds(x->r->costs, &(pl_pass){ (uint8_t)kind, rank, 0 });
}

/* What a rank waits for is there at a time, which may be earlier than when it wanted to look. */
static void arrive(playing *x, int kind, int r, int micro, double at)
{
    rank_state *k = &x->rank[r];
    *arrival(x, kind, r, micro) = at;
    k->now = fmin(k->now, fmax(at, k->free));
}

static void hand_on(playing *x, int r, int kind, int m, double end)
{
    const int last = x->r->ranks - 1;
    const double there = end + x->r->costs->send;
    if (kind == PL_PASS_F && r < last) arrive(x, PL_PASS_F, r + 1, m, there);
    if (kind == PL_PASS_F && r == last) arrive(x, PL_PASS_I, r, m, end);
    if (kind == PL_PASS_I && r > 0) arrive(x, PL_PASS_I, r - 1, m, there);
}

static void take(playing *x, int r, int kind)
{
    rank_state *k = &x->rank[r];
    const double held = held_of(x, r), rest = rest_of(x, r);
    int *const count = kind == PL_PASS_F ? &k->begun : kind == PL_PASS_I ? &k->turned : &k->done;
    const int m = (*count)++;
    if (kind == PL_PASS_F && !m) k->first = k->now;
    k->held += kind == PL_PASS_F ? held : kind == PL_PASS_I ? rest - held : -rest;
    k->now = k->free = k->now + seconds(x, kind, r);
    hand_on(x, r, kind, m, k->free);
    pl_pipeline_add(x->s, r, kind, r, m, x->out);
}

/* -- the rule ---------------------------------------------------------------------------------- */

/* F that a rank takes before its first I: what memory holds, and fewer with each rank. */
static double most_first(const playing *x, int r)
{
    const double limit =
        x->r->memory > 0 ? floor(x->r->memory / held_of(x, r) * (1 + 1e-9)) : INFINITY;
    return fmax(1, limit - 2 * x->rule->of[SLOPE] * r);
}

static bool has_room(const playing *x, int r)
{
    if (!x->rank[r].turned && x->rank[r].begun + 1 > most_first(x, r)) return false;
    const double held = held_of(x, r), limit = x->r->memory > 0 ? x->r->memory : INFINITY;
    return x->rank[r].held + held <= limit * (1 + 1e-9);
}

/* The least that a rank will have taken in the end. */
static double least_end(const playing *x, int r)
{
    const rank_state *k = &x->rank[r];
    const int n = x->r->micro;
    return k->now + (n - k->begun) * seconds(x, PL_PASS_F, r) +
           (n - k->turned) * seconds(x, PL_PASS_I, r) + (n - k->done) * seconds(x, PL_PASS_W, r) -
           (!x->r->apart ? 0
            : k->begun   ? k->first
                         : k->now);
}

/* That it may wait before it takes longer than the bound. */
static double spare(const playing *x, int r)
{
    return fmax(0, x->bound - least_end(x, r));
}

/* When the next I is there; the earliest that it may be, where nobody knows yet. */
static double guess_back(const playing *x, int r)
{
    const rank_state *k = &x->rank[r];
    if (k->turned == k->begun) return INFINITY;
    const double at = *arrival(x, PL_PASS_I, r, k->turned);
    if (at < INFINITY || r + 1 == x->r->ranks) return at;
    return x->rank[r + 1].now + seconds(x, PL_PASS_I, r + 1) + x->r->costs->send;
}

/* The next pass of a rank at its time, or -1: it waits until *until. */
static int choose(const playing *x, int r, double *until)
{
    const rank_state *k = &x->rank[r];
    const int n = x->r->micro;
    const double back = k->turned < k->begun ? *arrival(x, PL_PASS_I, r, k->turned) : INFINITY;
    const bool room = k->begun < n && has_room(x, r);
    const double forward = room ? *arrival(x, PL_PASS_F, r, k->begun) : INFINITY;
    if (back <= k->now) return PL_PASS_I;
    const double near = k->turned ? x->rule->of[LATER] : x->rule->of[FIRST];
    *until = back;
    if (forward <= k->now) return back > k->now + near * seconds(x, PL_PASS_F, r) ? PL_PASS_F : -1;
    *until = fmin(back, forward);
    const double next = fmin(forward, guess_back(x, r));
    const double gap = next - k->now, whole = seconds(x, PL_PASS_W, r);
    const double share = k->begun == n ? x->rule->of[DRAIN] : x->rule->of[FILL];
    const bool last = k->turned + 1 >= n - x->rule->of[LAST] * n; /* they are not kept waiting */
    const bool fills = gap >= share * whole && !(last && gap <= spare(x, r));
    return k->done < k->turned && (gap >= whole || fills) ? PL_PASS_W : -1;
}

static int earliest(const playing *x)
{
    int best = 0;
    for (int r = 1; r < x->r->ranks; r++)
        if (x->rank[r].now < x->rank[best].now) best = r;
    return best;
}

/* False: it is no faster, or nothing goes on, as memory is too little. */
static bool play(playing *x)
{
    for (int left = x->r->ranks; left;) {
        const int r = earliest(x);
        rank_state *k = &x->rank[r];
        double until = INFINITY;
        if (k->now == INFINITY) return false;
        const int kind = choose(x, r, &until);
        if (kind >= 0)
            take(x, r, kind);
        else
            k->now = until;
        if (k->now < INFINITY && least_end(x, r) >= x->best * (1 - 1e-12)) return false;
        if (k->done < x->r->micro) continue;
        x->longest = fmax(x->longest, k->free - (x->r->apart ? k->first : 0));
        k->now = INFINITY;
        left--;
    }
    return true;
}

/* -- the search -------------------------------------------------------------------------------- */

/* The best so far. */
typedef struct found {
    rule rule;
    double seconds;
    const pl_pass_row *row; /* NULL: none yet */
    pl_arena *arena;        /* which they are in */
} found;

typedef struct searching {
    const pl_pipeline_request *r;
    const pl_pipeline *s;
    double bound;
    int tries; /* left */
    found found;
} searching;

/* None can be faster. */
static bool is_met(const searching *x)
{
    return x->found.seconds <= x->bound * (1 + 1e-9);
}

/* The best one is kept, each in an arena of its own. */
static void keep(searching *x, const pl_pass_row *row, double seconds_taken, pl_arena *arena)
{
    pl_arena_free(x->found.arena);
    x->found.arena = arena, x->found.row = row, x->found.seconds = seconds_taken;
}

static bool try_rule(searching *x, rule tried)
{
    const pl_pipeline_request *r = x->r;
    const size_t n = (size_t)r->ranks * (size_t)r->micro;
    if (x->tries-- <= 0) return false;
    pl_arena *arena = pl_arena_new("schedule"), *tmp = pl_arena_new("schedule times");
    pl_pipeline s = *x->s;
    playing p = {
        .r = r, .rule = &tried, .best = x->found.seconds, .bound = x->bound, .s = &s, .out = arena
    };
    s.row = PL_NEW_N(arena, pl_pass_row, r->ranks);
    p.rank = PL_NEW_N(tmp, rank_state, r->ranks);
    for (int k = 0; k < 2; k++) {
        p.at[k] = PL_NEW_N(tmp, double, n);
        for (size_t i = 0; i < n; i++) p.at[k][i] = INFINITY;
    }
    for (int i = 1; i < r->ranks; i++) p.rank[i].now = INFINITY;
    for (int m = 0; m < r->micro; m++) *arrival(&p, PL_PASS_F, 0, m) = 0;
    const bool better = play(&p);
    pl_arena_free(tmp);
    if (better)
        x->found.rule = tried, keep(x, s.row, p.longest, arena);
    else
        pl_arena_free(arena);
    return better;
}

/* A published schedule that holds no more than there is memory. */
static void try_published(searching *x, pl_pipeline_generator_make *make)
{
    const double limit = x->r->memory > 0 ? x->r->memory : INFINITY;
    pl_arena *arena = pl_arena_new("schedule");
    pl_pipeline s = *x->s;
    pl_pipeline_times t;
    pl_err why = { 0 };
    s.row = PL_NEW_N(arena, pl_pass_row, x->r->ranks);
    bool ok = make(x->r, arena, &s, &why) && pl_pipeline_check(&s, &why);
    if (ok) {
        pl_pipeline_play(&s, x->r->costs, arena, &t);
        const double took = x->r->apart ? t.own_seconds : t.seconds;
        ok = t.most_held <= limit * (1 + 1e-9) && took < x->found.seconds;
        if (ok) keep(x, s.row, took, arena);
    }
    if (!ok) pl_arena_free(arena);
}

/* Every value of a number. */
static bool sweep(searching *x, int number)
{
    enum { STEPS = 16 };
    bool better = false;
    for (int i = 0; i <= STEPS && !is_met(x); i++) {
        rule next = x->found.rule;
        next.of[number] = (double)i / STEPS;
        better |= try_rule(x, next);
    }
    return better;
}

/* One number of the rule after the other, until none helps. */
static void descend(searching *x, const uint8_t order[])
{
    enum { ROUNDS = 3 };
    bool better = true;
    for (int round = 0; round < ROUNDS && better; round++) {
        better = false;
        for (int i = 0; i < N_NUMBERS; i++) better |= sweep(x, order[i]);
    }
}

static const struct {
    double slope;
    uint8_t order[N_NUMBERS];
} starts[] = { { 0, { FIRST, FILL, LAST, DRAIN, LATER, SLOPE } },
               { 0.5, { FIRST, FILL, LAST, DRAIN, LATER, SLOPE } },
               { 0, { FIRST, SLOPE, FILL, LAST, DRAIN, LATER } } };
enum { N_STARTS = sizeof starts / sizeof *starts };

static void descend_from(void *with, int i)
{
    searching *x = (searching *)with + i;
    x->found = (found){ .seconds = INFINITY };
    x->found.rule = (rule){ { [FILL] = 1, [DRAIN] = 1, [SLOPE] = starts[i].slope } };
    descend(x, starts[i].order);
}

/* From several rules in two orders, at once, and from the best of these in the end. */
static void search(searching *x)
{
    searching from[N_STARTS];
    if (is_met(x)) return;
    for (int i = 0; i < N_STARTS; i++) from[i] = *x;
    pl_each(N_STARTS, descend_from, from);
    for (int i = 0; i < N_STARTS; i++) {
        const bool better = from[i].found.seconds < x->found.seconds;
        pl_arena_free(better ? x->found.arena : from[i].found.arena);
        if (better) x->found = from[i].found;
    }
    descend(x, starts[0].order);
}

/* As many as take about a second: a pass is chosen by looking at all ranks. */
static int most_tries(const pl_pipeline_request *r)
{
    enum { LEAST = 4, MOST = 1000 };
    const double looks = 3. * r->micro * r->ranks * r->ranks;
    return (int)fmin(fmax(4e8 / looks, LEAST), MOST);
}

bool pl_pipeline_search(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    searching x = { .r = r, .s = s, .found = { .seconds = INFINITY } };
    x.tries = most_tries(r);
    x.bound = pl_pipeline_bound(s, r->costs, r->memory, r->apart);
    try_published(&x, pl_pipeline_zb_h1);
    try_published(&x, pl_pipeline_zb_h2);
    search(&x);
    if (!x.found.row)
        return pl_err_set(err, PL_EINFEASIBLE, "no schedule was found that holds at most %g",
                          r->memory);
    pl_arena_adopt(out, x.found.arena);
    s->row = x.found.row;
    return true;
}
