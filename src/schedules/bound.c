#include "schedules/bound.h"

#include <math.h>

/* What a stage takes and holds. */
typedef struct stage {
    double f, i, w, held, rest;
} stage;

typedef struct bounding {
    const pl_pipeline *s;
    const pl_pass_costs *c;
    double limit;
    int *low, *high; /* [n_ranks] the first and the last stage of each; -1: it has none */
    stage *sum;      /* [n_ranks] f, i and w of all its stages                          */
    double *there;   /* [n_stages] from the start of F of stage 0 to that of F of each  */
    double *back;    /* [n_stages] from the end of I of each to that of I of stage 0    */
} bounding;

static stage stage_of(const bounding *x, int s)
{
    const pl_pass_costs *c = x->c;
    return (stage){ pl_pass_seconds(c, &(pl_pass){ PL_PASS_F, s, 0 }),
                    pl_pass_seconds(c, &(pl_pass){ PL_PASS_I, s, 0 }),
                    pl_pass_seconds(c, &(pl_pass){ PL_PASS_W, s, 0 }), pl_pass_held(c, s),
                    pl_pass_rest(c, s) };
}

static void add_stages(bounding *x)
{
    for (int r = 0; r < x->s->n_ranks; r++) x->low[r] = x->high[r] = -1;
    for (int k = 0; k < x->s->n_stages; k++) {
        const int r = x->s->rank_of[k];
        const stage s = stage_of(x, k);
        if (x->low[r] < 0) x->low[r] = k;
        x->high[r] = k;
        x->sum[r].f += s.f, x->sum[r].i += s.i, x->sum[r].w += s.w;
    }
}

static void add_ways(bounding *x)
{
    for (int k = 1; k < x->s->n_stages; k++) {
        const double sent = x->s->rank_of[k] == x->s->rank_of[k - 1] ? 0 : x->c->send;
        x->there[k] = x->there[k - 1] + stage_of(x, k - 1).f + sent;
        x->back[k] = x->back[k - 1] + stage_of(x, k - 1).i + sent;
    }
}

/* From the start of F of a stage to that of F of a later one. */
static double way(const bounding *x, int from, int to)
{
    return x->there[to] - x->there[from];
}

/* From the end of I of a stage to that of I of an earlier one. */
static double way_back(const bounding *x, int from, int to)
{
    return x->back[from] - x->back[to];
}

/* From the start of F of a stage until its micro-batch is there for I of one that may be later. */
static double round_trip(const bounding *x, int from, int to)
{
    const int last = x->s->n_stages - 1;
    const double there = way(x, from, last) + stage_of(x, last).f;
    if (to == last) return there;
    return there + stage_of(x, last).i + way_back(x, last, to) - stage_of(x, to).i;
}

/* -- what memory holds ------------------------------------------------------------------------- */

/* How many of so many bytes fit, at most n. */
static int fit(double room, double bytes, int n)
{
    const double most = bytes > 0 ? floor(room / bytes * (1 + 1e-9)) : n;
    return most < n ? (int)fmax(most, 0) : n;
}

/* Seconds of F that a rank may do before any I. */
static double most_forward(const bounding *x, int r)
{
    const double all = x->s->n_micro * x->sum[r].f;
    const stage first = stage_of(x, x->low[r]);
    double per_byte = 0;
    bool equal = true;
    for (int k = x->low[r]; k <= x->high[r]; k++) {
        if (x->s->rank_of[k] != r) continue;
        const stage s = stage_of(x, k);
        equal &= s.f == first.f && s.held == first.held;
        per_byte = fmax(per_byte, s.held > 0 ? s.f / s.held : INFINITY);
    }
    if (x->limit == INFINITY) return all;
    if (equal) return fmin(all, first.f * fit(x->limit, first.held, INT32_MAX));
    return fmin(all, per_byte * x->limit);
}

/* Seconds of the I and W that memory can hold in so many bytes, of at most n micro-batches: some
 * that have had their F alone, and some that have had their I. */
static double find_work(const stage *s, double room, int n)
{
    double most = 0;
    const int all = fit(room, s->held, n);
    for (int whole = 0; whole <= all; whole++) {
        const int half = fit(room - whole * s->held, s->rest, n - whole);
        most = fmax(most, whole * (s->i + s->w) + half * s->w);
    }
    return most;
}

/* What a rank waits for, before its first I and after its last F. */
static double find_waiting(const bounding *x, int r)
{
    const int low = x->low[r], high = x->high[r], n = x->s->n_micro;
    const double forward = most_forward(x, r);
    const double first = fmax(0, round_trip(x, low, high) - forward);
    if (low != high) return first;
    const stage s = stage_of(x, low);
    const double work = find_work(&s, x->limit - s.held, n - 1);
    const double last = fmax(0, round_trip(x, low, low) - s.f - work);
    return forward < n * s.f ? first + last : fmax(first, last); /* else both may be one */
}

/* -- the bound --------------------------------------------------------------------------------- */

static double find_path(const bounding *x, int q)
{
    const int from = x->low[q];
    double most = 0;
    for (int r = 0; r < x->s->n_ranks; r++) {
        const int to = x->low[r];
        if (to < from) continue;
        const double passes = x->s->n_micro * (x->sum[r].f + x->sum[r].i);
        most = fmax(most, way(x, from, to) + passes + way_back(x, to, from));
    }
    return most + stage_of(x, from).w;
}

double pl_pipeline_bound(const pl_pipeline *s, const pl_pass_costs *costs, double memory,
                         bool apart)
{
    pl_arena *tmp = pl_arena_new("schedule bound");
    bounding x = { .s = s, .c = costs, .limit = memory > 0 ? memory : INFINITY };
    double bound = 0;
    x.low = PL_NEW_N(tmp, int, s->n_ranks);
    x.high = PL_NEW_N(tmp, int, s->n_ranks);
    x.sum = PL_NEW_N(tmp, stage, s->n_ranks);
    x.there = PL_NEW_N(tmp, double, s->n_stages);
    x.back = PL_NEW_N(tmp, double, s->n_stages);
    add_stages(&x);
    add_ways(&x);
    for (int q = 0; q < s->n_ranks; q++) {
        if (x.low[q] < 0) continue;
        const double work = s->n_micro * (x.sum[q].f + x.sum[q].i + x.sum[q].w);
        if (s->apart) { /* nobody waits */
            bound = fmax(bound, work);
            continue;
        }
        const double own = fmax(find_path(&x, q), work + find_waiting(&x, q));
        bound = fmax(bound, own + (apart ? 0 : way(&x, 0, x.low[q])));
    }
    pl_arena_free(tmp);
    return bound;
}
