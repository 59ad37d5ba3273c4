/* Every time of a table becomes a weighted sum of two (mix_times). */
#include "chain/at_price.h"

#include <math.h>

static const double *mix_times(const double *a, const double *b, int64_t n, double price,
                               pl_arena *arena)
{
    if (a == b) return a;
    double *to = pl_arena_get(arena, (size_t)n, sizeof *to);
    for (int64_t i = 0; i < n; i++) {
        const double t = a ? a[i] : 0, u = b ? b[i] : 0;
        to[i] = isinf(t) || isinf(u) ? INFINITY : price * t + (1 - price) * u;
    }
    return to;
}

static const pl_sum_edge *mix_edges(int n, const pl_sum_edge *a, const pl_sum_edge *b,
                                    const int *rows, const int *cols, double price, pl_arena *arena)
{
    pl_sum_edge *to = PL_NEW_N(arena, pl_sum_edge, n + 1);
    for (int i = 0; i < n; i++) {
        const int64_t entries = (int64_t)rows[a[i].a] * cols[a[i].b];
        to[i] = a[i];
        to[i].time = mix_times(a[i].time, b[i].time, entries, price, arena);
    }
    return to;
}

static pl_sum mix_sums(const pl_sum *a, const pl_sum *b, double price, pl_arena *arena)
{
    const double **time = PL_NEW_N(arena, const double *, a->n + 1);
    pl_sum to = *a;
    for (int v = 0; v < a->n; v++)
        time[v] = mix_times(a->time ? a->time[v] : NULL, b->time ? b->time[v] : NULL,
                            a->n_values[v], price, arena);
    to.time = time;
    to.edge = mix_edges(a->n_edges, a->edge, b->edge, a->n_values, a->n_values, price, arena);
    return to;
}

pl_chain pl_chain_at_price(pl_chain_pair pair, double price, pl_arena *arena)
{
    const pl_chain *a = pair.sum[0], *b = pair.sum[1];
    const int *outside = a->outside.n_values, *block = a->block.n_values;
    pl_chain c = *a;
    if (a == b || price == 1) return c;
    c.outside = mix_sums(&a->outside, &b->outside, price, arena);
    c.block = mix_sums(&a->block, &b->block, price, arena);
    c.link = mix_edges(a->n_links, a->link, b->link, block, block, price, arena);
    c.first = mix_edges(a->n_first, a->first, b->first, outside, block, price, arena);
    c.last = mix_edges(a->n_last, a->last, b->last, outside, block, price, arena);
    c.every = mix_edges(a->n_every, a->every, b->every, outside, block, price, arena);
    return c;
}
