/* Costs and checks of a sum, and every choice in turn: pl_sum_brute(). */
#include "search/sum.h"

#include <math.h>

static double entry(const double *const *table, int v, int x)
{
    return table && table[v] ? table[v][x] : 0;
}

void pl_sum_add_edges(pl_cost *sum, int n, const pl_sum_edge *edge, const int *cols, const int *a,
                      const int *b)
{
    for (int p = 0; p < n; p++) {
        const pl_sum_edge *e = &edge[p];
        size_t at = (size_t)a[e->a] * (size_t)cols[e->b] + (size_t)b[e->b];
        sum->time += e->time[at];
        if (e->memory) sum->memory += e->memory[at];
    }
}

pl_cost pl_sum_cost(const pl_sum *sum, const int *value)
{
    pl_cost c = { 0, 0 };
    for (int v = 0; v < sum->n; v++) {
        c.time += entry(sum->time, v, value[v]);
        c.memory += entry(sum->memory, v, value[v]);
    }
    pl_sum_add_edges(&c, sum->n_edges, sum->edge, sum->n_values, value, value);
    return c;
}

/* The first entry that is no cost, or -1. One pass without branches finds whether there is any. */
static int64_t find_bad(const double *table, int64_t n, bool infinite)
{
    double sum = 0;
    for (int64_t i = 0; table && i < n; i++) sum += table[i] * 0; /* 0, or NaN */
    if (!isnan(sum)) return -1;
    for (int64_t i = 0; i < n; i++)
        if (isnan(table[i]) || table[i] == -INFINITY || (!infinite && isinf(table[i]))) return i;
    return -1;
}

bool pl_sum_check_edge(const pl_sum_edge *edge, int na, int nb, const char *what, int index,
                       pl_err *err)
{
    if (!edge->time)
        return pl_err_set(err, PL_EINPUT, "%s: edge %d (%d, %d) has no table of times", what, index,
                          edge->a, edge->b);
    int64_t n = (int64_t)na * nb, bad = find_bad(edge->time, n, true);
    const double *table = edge->time;
    if (bad < 0) bad = find_bad(table = edge->memory, n, false);
    if (bad < 0) return true;
    return pl_err_set(err, PL_EINPUT, "%s: edge %d (%d, %d): the %s of values (%d, %d) is %g", what,
                      index, edge->a, edge->b, table == edge->time ? "time" : "memory",
                      (int)(bad / nb), (int)(bad % nb), table[bad]);
}

static bool check_variable(const pl_sum *sum, int v, const char *what, pl_err *err)
{
    int n = sum->n_values[v];
    if (n < 1)
        return pl_err_set(err, PL_EINPUT, "%s: variable %d has %d values; it needs one or more",
                          what, v, n);
    const double *time = sum->time ? sum->time[v] : NULL,
                 *memory = sum->memory ? sum->memory[v] : NULL;
    int64_t bad = find_bad(time, n, true);
    if (bad >= 0)
        return pl_err_set(err, PL_EINPUT, "%s: variable %d: the time of value %d is %g", what, v,
                          (int)bad, time[bad]);
    bad = find_bad(memory, n, false);
    if (bad >= 0)
        return pl_err_set(err, PL_EINPUT, "%s: variable %d: the memory of value %d is %g", what, v,
                          (int)bad, memory[bad]);
    return true;
}

bool pl_sum_check(const pl_sum *sum, const char *what, pl_err *err)
{
    if (sum->n < 0 || sum->n_edges < 0)
        return pl_err_set(err, PL_EINPUT, "%s: %d variables, %d edges", what, sum->n, sum->n_edges);
    for (int v = 0; v < sum->n; v++) PL_TRY(check_variable(sum, v, what, err));
    for (int p = 0; p < sum->n_edges; p++) {
        const pl_sum_edge *e = &sum->edge[p];
        if (e->a < 0 || e->a >= sum->n || e->b < 0 || e->b >= sum->n || e->a == e->b)
            return pl_err_set(err, PL_EINPUT,
                              "%s: edge %d joins variables %d and %d; it needs two that differ, of "
                              "0 .. %d",
                              what, p, e->a, e->b, sum->n - 1);
        PL_TRY(pl_sum_check_edge(e, sum->n_values[e->a], sum->n_values[e->b], what, p, err));
    }
    return true;
}

bool pl_sum_brute(const pl_sum *sum, double cap, int *value, pl_cost *cost)
{
    pl_arena *tmp = pl_arena_new("brute force");
    int *at = PL_NEW_N(tmp, int, sum->n);
    bool found = false;
    *cost = (pl_cost){ INFINITY, 0 };
    for (int v = 0; v >= 0;) {
        pl_cost c = pl_sum_cost(sum, at);
        if (c.memory <= cap && c.time < cost->time) {
            found = true;
            *cost = c;
            for (int i = 0; i < sum->n; i++) value[i] = at[i];
        }
        for (v = sum->n - 1; v >= 0 && ++at[v] == sum->n_values[v]; v--) at[v] = 0;
    }
    pl_arena_free(tmp);
    return found;
}
