/* Chains: ops 0 .. n-1 each read the value before and make one; the ops after them each read the
 * value before, and values of the chain from its end to its start. The fastest schedule that
 * stores some values and makes others again from the nearest stored one, by dynamic programming
 * over stretches of the chain and memory (Griewank 1992 for equal steps; Beaumont et al., "Optimal
 * checkpointing for heterogeneous chains", 2019, its persistent form). Bytes are counted in at
 * most MOST_SLOTS units, rounded up.
 *
 * least(i, j, m): seconds of forward ops so that all readers of values i .. j are served, j first,
 * value i - 1 being stored outside the m units: advance to k, store it, serve k + 1 .. j, then
 * what reads k, then i .. k - 1. */
#include "policies/revolve.h"

#include "evict/play.h"
#include "policies/policy.h"

#include <math.h>

enum { MOST_SLOTS = 256, MOST_LENGTH = 128 };

int64_t pl_evict_revolve_steps(int steps, int slots)
{
    int64_t r = 0, choose = 1, before = 0; /* binomial(slots + r, r), binomial(slots + r, r - 1) */
    while (choose < steps) {
        r++;
        before = choose * (slots + r) / (slots + 1); /* (s + r)! / ((r - 1)! (s + 1)!) */
        choose = choose * (slots + r) / r;
    }
    return r * steps - (r > 0 ? before : 0);
}

typedef struct chain {
    const pl_evict_items *x;
    int n, slots; /* values of the chain; units of memory                              */
    int64_t unit;
    int *reader;   /* [n] last op after the chain that reads value i, or -1: none       */
    int *cost;     /* [n] units of value i, rounded up                                  */
    int *need;     /* [n] ... of what its readers read and make besides the chain       */
    int *waits;    /* [n] ... of what lies there while forward ops run towards value i  */
    double *least; /* [2][n + 1][n + 1][slots + 1]; the first half: the first time      */
    pl_evict_play *y;
} chain;

static double *at(const chain *c, bool again, int i, int j, int m)
{
    size_t n = (size_t)c->n + 1, s = (size_t)c->slots + 1;
    return &c->least[(((size_t)again * n + (size_t)i) * n + (size_t)j) * s + (size_t)m];
}

static int units(const chain *c, int64_t bytes)
{
    return (int)((bytes + c->unit - 1) / c->unit);
}

static double seconds(const chain *c, int op)
{
    return c->x->problem->seconds[op];
}

/* Least over i .. j, less what nobody reads at its end. */
static double look(const chain *c, bool again, int i, int j, int m)
{
    while (j >= i && c->reader[j] < 0) j--;
    if (j < i) return 0;
    return m < 0 ? INFINITY : *at(c, again, i, j, m);
}

/* Which value to advance to and store first. Advancing, two neighbours are there at once, and what
 * readers of j wait with. */
static int choose(const chain *c, bool again, int i, int j, int m, double *least)
{
    int best = -1, waits = again ? c->waits[j] : 0;
    double sum = 0;
    *least = INFINITY;
    for (int k = i; k <= j; k++) {
        if (waits + (k > i ? c->cost[k - 1] : 0) + c->cost[k] > m) break;
        sum += seconds(c, k);
        if (c->cost[k] + c->need[k] > m) continue;
        double all = sum + look(c, again, k + 1, j, m - c->cost[k]) + look(c, true, i, k - 1, m);
        if (all >= *least) continue;
        *least = all;
        best = k;
    }
    return best;
}

static void fill(const chain *c)
{
    for (int length = 1; length <= c->n; length++)
        for (int i = 0; i + length <= c->n; i++)
            for (int again = 0; again < 2; again++)
                for (int m = 0; m <= c->slots; m++)
                    (void)choose(c, again, i, i + length - 1, m,
                                 at(c, again, i, i + length - 1, m));
}

static void drop(const chain *c, int value)
{
    int i = c->x->item_of[value];
    if (c->y->present[i] && !c->x->item[i].pinned && !c->x->item[i].at_end)
        pl_evict_play_drop(c->y, i);
}

/* The ops after the chain up to and including the last reader of a value. */
static void serve(const chain *c, int *next, int last)
{
    const pl_evict_problem *p = c->x->problem;
    for (; *next <= last; ++*next) {
        pl_evict_play_run(c->y, *next);
        for (int k = p->read_at[*next]; k < p->read_at[*next + 1]; k++)
            if (p->maker[p->read[k]] >= c->n) drop(c, p->read[k]);
        for (int k = c->x->make_at[*next]; k < c->x->make_at[*next + 1]; k++)
            if (c->x->item[c->x->item_of[c->x->make[k]]].last == *next) drop(c, c->x->make[k]);
    }
}

static int value_of(const chain *c, int op)
{
    return c->x->make[c->x->make_at[op]];
}

static void play(const chain *c, bool again, int i, int j, int m, int *next)
{
    double least;
    while (j >= i && c->reader[j] < 0) j--;
    if (j < i) return;
    int k = choose(c, again, i, j, m, &least);
    for (int l = i; l <= k; l++) {
        pl_evict_play_run(c->y, l);
        if (l > i) drop(c, value_of(c, l - 1));
    }
    play(c, again, k + 1, j, m - c->cost[k], next);
    serve(c, next, c->reader[k]);
    drop(c, value_of(c, k));
    play(c, true, i, k - 1, m, next);
}

static int count_uses(const pl_evict_items *x, int value)
{
    return x->use_at[x->item_of[value] + 1] - x->use_at[x->item_of[value]];
}

/* What is no chain: the op where it ends to be one. */
static bool find_chain(chain *c, pl_arena *tmp, pl_err *err)
{
    const pl_evict_items *x = c->x;
    const pl_evict_problem *p = x->problem;
    while (c->n < x->n_op && x->make_at[c->n + 1] - x->make_at[c->n] == 1 &&
           p->read_at[c->n + 1] - p->read_at[c->n] == (c->n > 0) &&
           (c->n == 0 || p->read[p->read_at[c->n]] == x->make[x->make_at[c->n - 1]]))
        c->n++;
    while (c->n > 0 && count_uses(x, value_of(c, c->n - 1)) < 3) c->n--;
    c->reader = PL_NEW_N(tmp, int, c->n + 1);
    for (int i = 0; i < c->n; i++) c->reader[i] = -1;
    int least = c->n;
    for (int t = c->n; t < x->n_op; t++)
        for (int k = p->read_at[t]; k < p->read_at[t + 1]; k++) {
            int op = p->maker[p->read[k]];
            bool before = op >= c->n && op == t - 1;
            if (op >= 0 && op < c->n && op <= least) {
                c->reader[op] = t;
                least = op;
            } else if (!before) {
                return op < 0 ? pl_err_set(err, PL_EUNSUPPORTED,
                                           "no chain: op %d reads value %d, which is there from "
                                           "the start",
                                           t, p->read[k])
                              : pl_err_set(err, PL_EUNSUPPORTED,
                                           "no chain: op %d reads value %d, which op %d makes", t,
                                           p->read[k], op);
            }
        }
    for (int i = 0; i < x->n_item; i++)
        if (x->item[i].at_end || x->item[i].pinned || x->item[i].born < 0 || p->most_runs)
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "no chain: value %d is kept, or there from the start, or runs are "
                              "limited",
                              x->item[i].root);
    if (c->n == 0 || c->n > MOST_LENGTH || x->n_item < x->n_value)
        return pl_err_set(err, PL_EUNSUPPORTED, "a chain of %d values: 1 to %d, without views",
                          c->n, MOST_LENGTH);
    return true;
}

/* Bytes of what ops first .. last after the chain read and make besides it: at the most. */
static int64_t sum_need(const chain *c, int first, int last)
{
    const pl_evict_problem *p = c->x->problem;
    int64_t most = 0;
    for (int t = first; t >= 0 && t <= last; t++) {
        int64_t sum = c->x->made[t];
        for (int k = p->read_at[t]; k < p->read_at[t + 1]; k++)
            if (p->maker[p->read[k]] >= c->n) sum += p->bytes[p->read[k]];
        most = sum > most ? sum : most;
    }
    return most;
}

bool pl_evict_policy_chain(const pl_evict_policy_ask *ask, pl_arena *out,
                           pl_evict_schedule *schedule, pl_err *err)
{
    pl_arena *tmp = ask->tmp;
    chain c = { .x = ask->items };
    int64_t budget = ask->options->budget, most = 1;
    PL_TRY(find_chain(&c, tmp, err));
    for (int v = 0; v < c.x->n_value; v++) most += c.x->problem->bytes[v];
    if (budget > most) budget = most;
    c.unit = (budget + MOST_SLOTS - 1) / MOST_SLOTS;
    if (c.unit < 1) c.unit = 1;
    c.slots = (int)(budget / c.unit);
    c.cost = PL_NEW_N(tmp, int, c.n);
    c.need = PL_NEW_N(tmp, int, c.n);
    c.waits = PL_NEW_N(tmp, int, c.n);
    int served = c.n;
    for (int i = c.n - 1; i >= 0; i--) {
        c.cost[i] = units(&c, c.x->problem->bytes[value_of(&c, i)]);
        c.waits[i] = served > c.n ? units(&c, c.x->made[served - 1]) : 0;
        c.need[i] = c.reader[i] < 0 ? 0 : units(&c, sum_need(&c, served, c.reader[i]));
        if (c.reader[i] >= 0) served = c.reader[i] + 1;
    }
    size_t n = (size_t)c.n + 1;
    c.least = pl_arena_get(tmp, 2 * n * n * ((size_t)c.slots + 1), sizeof *c.least);
    fill(&c);
    if (look(&c, false, 0, c.n - 1, c.slots) == INFINITY) return pl_evict_policy_refuse(ask, err);
    c.y = pl_evict_play_new(c.x, tmp);
    int next = c.n;
    play(&c, false, 0, c.n - 1, c.slots, &next);
    serve(&c, &next, c.x->n_op - 1);
    if (c.y->peak > ask->options->budget) return pl_evict_policy_refuse(ask, err);
    pl_evict_play_end(c.y, out, schedule);
    return true;
}
