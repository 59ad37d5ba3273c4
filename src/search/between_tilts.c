#include "search/between.h"
#include "search/few.h"
#include "search/solve.h"

/* How often the place is moved, by a half of what is left; work of each. */
enum { HALVES = 5, EFFORT = 1 << 21 };

/* How the price changes from end to end: nearly a step, for mixtures with one place of change; and
 * a little, where many parts can change by themselves. */
static const double SLOPES[] = { 4, -4, 0.25, -0.25 };

/* Gap of the sums, and how much the two times may differ. */
static const double GAP = 1e-3, LEAST_PRICE = 0.01;

typedef struct tilts {
    const pl_between *p;
    pl_few few;
    pl_sum sum; /* written out; memory is the other's time */
    double *at; /* [n] where a variable stands: from 0 at one end to 1 at the other */
    int *best;
    double most;
    int64_t work;
    pl_arena *out;
} tilts;

/* By their distance from one end: a variable that is farthest from one that is farthest. */
static double *find_places(const pl_net *net, pl_arena *a)
{
    double *at = PL_NEW_N(a, double, net->n);
    bool *seen = PL_NEW_N(a, bool, net->n);
    int *queue = PL_NEW_N(a, int, net->n), n = pl_net_spread(net, queue, seen);
    for (int i = 0; i < 2; i++) {
        queue[0] = queue[n - 1];
        n = pl_net_spread(net, queue, seen);
    }
    for (int i = 0; i < n; i++) at[queue[i]] = (double)i / n;
    return at;
}

static double *weigh(const double *one, const double *other, int n, double price, pl_arena *a)
{
    double *to = pl_arena_get(a, (size_t)n, sizeof *to);
    price = fmin(fmax(price, LEAST_PRICE), 1 - LEAST_PRICE);
    for (int i = 0; i < n; i++)
        to[i] = isinf(one[i]) ? one[i] : price * one[i] + (1 - price) * (other ? other[i] : 0);
    return to;
}

static pl_sum tilt(const tilts *x, double middle, double slope, pl_arena *a)
{
    pl_sum s = x->sum;
    const double level = x->p->price - slope * middle;
    const double **time = PL_NEW_N(a, const double *, s.n);
    pl_sum_pair *pair = PL_NEW_N(a, pl_sum_pair, s.n_pairs);
    for (int v = 0; v < s.n; v++)
        time[v] = weigh(s.time[v], s.memory[v], s.n_values[v], level + slope * x->at[v], a);
    for (int i = 0; i < s.n_pairs; i++) {
        const pl_sum_pair *e = &s.pair[i];
        double at = (x->at[e->a] + x->at[e->b]) / 2;
        int n = s.n_values[e->a] * s.n_values[e->b];
        pair[i] = (pl_sum_pair){ e->a, e->b, NULL, NULL };
        pair[i].time = weigh(e->time, e->memory, n, level + slope * at, a);
    }
    s.time = time, s.memory = NULL, s.pair = pair;
    return s;
}

/* With the given price at `middle`. How much more the answer has of the one time than of the other;
 * NAN: none. */
static double try_middle(tilts *x, double middle, double slope)
{
    pl_arena *tmp = pl_arena_new("tilted prices");
    pl_sum s = tilt(x, middle, slope, tmp);
    const pl_search_options wish = { .gap = GAP, .effort = EFFORT }, o = pl_solve_defaults(&wish);
    pl_elimination f = pl_solve_sum(&s, (pl_cost){ 1, 0 }, &o, tmp);
    pl_cost c = f.value ? pl_sum_cost(&x->sum, f.value) : (pl_cost){ NAN, NAN };
    x->work += f.work;
    if (fmax(c.time, c.memory) < x->most) {
        x->most = fmax(c.time, c.memory);
        x->best = pl_few_whole(&x->few, f.value, x->out);
    }
    pl_arena_free(tmp);
    return c.time - c.memory;
}

static void search_slope(tilts *x, double slope)
{
    double low = 0, high = 1;
    for (int i = 0; i < HALVES; i++) {
        double middle = (low + high) / 2, more = try_middle(x, middle, slope);
        if (isnan(more) || fabs(more) <= GAP * x->most) return;
        *((more > 0) == (slope > 0) ? &high : &low) = middle;
    }
}

int *pl_between_tilts(const pl_between *p, double most, int64_t *work, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("tilts");
    tilts x = { .p = p, .most = most, .out = out };
    x.few = pl_few_of(p->one, p->other, p->n_known, p->known, tmp);
    x.sum = pl_chain_unroll(&x.few.chain, tmp);
    pl_net *net = pl_net_of(&x.sum, (pl_cost){ 1, 0 }, tmp);
    if (net) {
        x.at = find_places(net, tmp);
        for (size_t i = 0; i < sizeof SLOPES / sizeof *SLOPES; i++) search_slope(&x, SLOPES[i]);
    }
    *work += x.work;
    pl_arena_free(tmp);
    return x.best;
}
