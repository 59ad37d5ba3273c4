/* Small random sums and chains: some entries illegal, many zero, so that ties are common. */
#ifndef PL_TEST_SUPPORT_SEARCH_DRAW_H
#define PL_TEST_SUPPORT_SEARCH_DRAW_H
#include "base/rng.h"
#include "chain/chain.h"

#include <math.h>

typedef struct draw {
    pl_rng rng;
    uint64_t next;
    double illegal, below; /* the part of entries; how far below zero times may be                */
    bool memory;
    pl_arena *a;
} draw;

static inline int draw_below(draw *d, int n)
{
    return (int)pl_rng_below(d->rng, d->next++, (uint64_t)n);
}

static inline double draw_unit(draw *d)
{
    return pl_rng_uniform(d->rng, d->next++);
}

static inline double *draw_times(draw *d, int n)
{
    double *t = PL_NEW_N(d->a, double, n);
    for (int i = 0; i < n; i++)
        t[i] = draw_unit(d) < d->illegal ? INFINITY
               : draw_unit(d) < 0.3      ? 0
                                         : 10 * draw_unit(d) - d->below;
    return t;
}

static inline double *draw_memory(draw *d, int n)
{
    if (!d->memory || draw_below(d, 3) == 0) return NULL;
    double *m = PL_NEW_N(d->a, double, n);
    for (int i = 0; i < n; i++) m[i] = draw_below(d, 3) ? 8 * draw_unit(d) : 0;
    return m;
}

static inline pl_sum_edge draw_edge(draw *d, const pl_sum *a, const pl_sum *b, int va, int vb)
{
    int n = a->n_values[va] * b->n_values[vb];
    const double *time = draw_times(d, n);
    return (pl_sum_edge){ va, vb, time, draw_memory(d, n) };
}

/* tree: each variable is joined to one before it, else n_edges edges anywhere. */
static inline pl_sum draw_sum(draw *d, int n, int most_values, int n_edges, bool tree)
{
    int *n_values = PL_NEW_N(d->a, int, n);
    double **time = PL_NEW_N(d->a, double *, n), **memory = PL_NEW_N(d->a, double *, n);
    for (int v = 0; v < n; v++) {
        n_values[v] = 1 + draw_below(d, most_values);
        double illegal = d->illegal;
        d->illegal /= 4;
        time[v] = draw_times(d, n_values[v]);
        d->illegal = illegal;
        memory[v] = draw_memory(d, n_values[v]);
    }
    pl_sum s = { n, n_values, (const double *const *)time,
                 d->memory ? (const double *const *)memory : NULL, 0, NULL };
    if (n < 2) return s;
    s.n_edges = tree ? n - 1 : n_edges;
    pl_sum_edge *edge = PL_NEW_N(d->a, pl_sum_edge, s.n_edges);
    for (int p = 0; p < s.n_edges; p++) {
        int a = draw_below(d, tree ? p + 1 : n), b = tree ? p + 1 : draw_below(d, n - 1);
        if (!tree && b >= a) b++;
        edge[p] = draw_edge(d, &s, &s, a, b);
    }
    s.edge = edge;
    return s;
}

static inline pl_sum_edge *draw_links(draw *d, const pl_sum *a, const pl_sum *b, int most, int *n)
{
    *n = a->n && b->n ? draw_below(d, most + 1) : 0;
    pl_sum_edge *edge = PL_NEW_N(d->a, pl_sum_edge, *n);
    for (int p = 0; p < *n; p++) {
        const int va = draw_below(d, a->n), vb = draw_below(d, b->n);
        edge[p] = draw_edge(d, a, b, va, vb);
    }
    return edge;
}

static inline pl_chain draw_chain(draw *d, int most_block, int most_values, int most_copies)
{
    pl_chain c = { 0 };
    const int n_outside = draw_below(d, 4), n_edges = draw_below(d, 3);
    c.outside = draw_sum(d, n_outside, 3, n_edges, false);
    const int n = 1 + draw_below(d, most_block);
    c.block = draw_sum(d, n, most_values, draw_below(d, 2 * n), false);
    c.copies = 1 + draw_below(d, most_copies);
    c.link = draw_links(d, &c.block, &c.block, 4, &c.n_links);
    c.first = draw_links(d, &c.outside, &c.block, 3, &c.n_first);
    c.last = draw_links(d, &c.outside, &c.block, 3, &c.n_last);
    c.every = draw_links(d, &c.outside, &c.block, 2, &c.n_every);
    return c;
}

static inline draw draw_new(uint64_t seed, bool memory, pl_arena *a)
{
    draw d = { .rng = pl_rng_at(seed, 1), .memory = memory, .a = a };
    d.illegal = seed % 3 == 1 ? 0.1 : 0;
    d.below = seed % 4 == 1 ? 4 : 0;
    return d;
}

/* Other times for the same values: what is illegal stays so. */
static inline const double *redraw(draw *d, const double *time, int n)
{
    if (!time) return NULL;
    double *other = PL_NEW_N(d->a, double, n);
    for (int i = 0; i < n; i++) other[i] = isinf(time[i]) ? INFINITY : 10 * draw_unit(d);
    return other;
}

static inline const pl_sum_edge *redraw_edges(draw *d, int n, const pl_sum_edge *edge,
                                              const int *na, const int *nb)
{
    pl_sum_edge *other = PL_NEW_N(d->a, pl_sum_edge, n + 1);
    for (int i = 0; i < n; i++) {
        other[i] = edge[i];
        other[i].time = redraw(d, edge[i].time, na[edge[i].a] * nb[edge[i].b]);
    }
    return other;
}

static inline pl_sum redraw_sum(draw *d, pl_sum sum)
{
    const double **time = PL_NEW_N(d->a, const double *, sum.n + 1);
    for (int v = 0; v < sum.n; v++) time[v] = redraw(d, sum.time[v], sum.n_values[v]);
    sum.time = time;
    sum.edge = redraw_edges(d, sum.n_edges, sum.edge, sum.n_values, sum.n_values);
    return sum;
}

static inline pl_chain redraw_chain(draw *d, const pl_chain *chain)
{
    const int *outside = chain->outside.n_values, *block = chain->block.n_values;
    pl_chain c = *chain;
    c.outside = redraw_sum(d, c.outside);
    c.block = redraw_sum(d, c.block);
    c.link = redraw_edges(d, c.n_links, c.link, block, block);
    c.first = redraw_edges(d, c.n_first, c.first, outside, block);
    c.last = redraw_edges(d, c.n_last, c.last, outside, block);
    c.every = redraw_edges(d, c.n_every, c.every, outside, block);
    return c;
}

/* Any values, be they legal or not. */
static inline int *draw_values(draw *d, const pl_chain *c)
{
    const int n = (int)pl_chain_variables(c);
    int *value = PL_NEW_N(d->a, int, n);
    for (int v = 0; v < n; v++) {
        const bool outside = v < c->outside.n;
        value[v] = draw_below(d, outside ? c->outside.n_values[v]
                                         : c->block.n_values[(v - c->outside.n) % c->block.n]);
    }
    return value;
}

#endif
