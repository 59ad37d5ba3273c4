/* The fastest schedule that is found for given times within a memory. Ranks choose in the order of
 * the clock: I before F before W, by a rule with four numbers; these are tried one after the other,
 * from the best so far, until none of them helps or the bound is met. Found so, with one stage a
 * rank: all cases of Qi et al. (bench/schedules.csv). */
#include "schedules/bound.h"
#include "schedules/make.h"

#include <math.h>

/* When a rank rather waits for an I that is near, in shares of what it would do instead. */
typedef struct rule {
    double first; /* of F, for its first I: what it waits then, no rank before it waits */
    double later; /* of F, for others                                                   */
    double fill;  /* of W                                                               */
    double drain; /* of W, after the last F                                             */
    double last;  /* of the micro-batches: I of so many are not kept waiting by W while
                     there is time to spare */
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
    return x->r->costs->held ? x->r->costs->held[rank] : 1;
}

static double rest_of(const playing *x, int rank)
{
    return x->r->costs->rest ? x->r->costs->rest[rank] : held_of(x, rank);
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

static bool has_room(const playing *x, int r)
{
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
           (x->r->apart ? k->first : 0);
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
    const double near = k->turned ? x->rule->later : x->rule->first;
    *until = back;
    if (forward <= k->now) return back > k->now + near * seconds(x, PL_PASS_F, r) ? PL_PASS_F : -1;
    *until = fmin(back, forward);
    const double next = fmin(forward, guess_back(x, r));
    const double gap = next - k->now, whole = seconds(x, PL_PASS_W, r);
    const double share = k->begun == n ? x->rule->drain : x->rule->fill;
    const bool last = k->turned + 1 >= n - x->rule->last * n; /* they are not kept waiting */
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

typedef struct searching {
    const pl_pipeline_request *r;
    rule rule; /* of the best so far */
    double best, bound;
    const pl_pass_row *row; /* of the best; NULL: none yet */
    pl_arena *arena;        /* which it is in */
    const pl_pipeline *s;
} searching;

/* The best one is kept, each in an arena of its own. */
static void keep(searching *x, const pl_pass_row *row, double seconds_taken, pl_arena *arena)
{
    if (x->arena) pl_arena_free(x->arena);
    x->arena = arena, x->row = row, x->best = seconds_taken;
}

static bool try_rule(searching *x, rule tried)
{
    const pl_pipeline_request *r = x->r;
    const size_t n = (size_t)r->ranks * (size_t)r->micro;
    pl_arena *arena = pl_arena_new("schedule"), *tmp = pl_arena_new("schedule times");
    pl_pipeline s = *x->s;
    playing p = {
        .r = r, .rule = &tried, .best = x->best, .bound = x->bound, .s = &s, .out = arena
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
        x->rule = tried, keep(x, s.row, p.longest, arena);
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
        ok = t.most_held <= limit * (1 + 1e-9) && took < x->best;
        if (ok) keep(x, s.row, took, arena);
    }
    if (!ok) pl_arena_free(arena);
}

/* One number of the rule after the other. */
static void search(searching *x)
{
    enum { STEPS = 16, ROUNDS = 3 };
    const double enough = x->bound * (1 + 1e-9);
    for (int round = 0, better = 1; round < ROUNDS && better; round++) {
        better = 0;
        for (int number = 0; number < 5; number++)
            for (int i = 0; i <= STEPS && x->best > enough; i++) {
                rule next = x->rule;
                double *const at[] = { &next.first, &next.fill, &next.last, &next.drain,
                                       &next.later };
                *at[number] = (double)i / STEPS;
                better |= try_rule(x, next);
            }
    }
}

bool pl_pipeline_search(const pl_pipeline_request *r, pl_arena *out, pl_pipeline *s, pl_err *err)
{
    searching x = { .r = r, .s = s, .best = INFINITY, .rule = { .fill = 1, .drain = 1 } };
    x.bound = pl_pipeline_bound(r, r->apart);
    try_published(&x, pl_pipeline_zb_h1);
    try_published(&x, pl_pipeline_zb_h2);
    search(&x);
    if (!x.row)
        return pl_err_set(err, PL_EINFEASIBLE, "no schedule was found that holds at most %g",
                          r->memory);
    pl_arena_adopt(out, x.arena);
    s->row = x.row;
    return true;
}
