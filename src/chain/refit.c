/* Parts of a chain as a sum of their own (open_sum): what joins them to the rest is in their
 * variables' tables (join). */
#include "chain/refit.h"
#include "search/solve.h"

#include <string.h>

typedef struct refit {
    const pl_chain *chain;
    const int *value; /* of the whole chain                             */
    pl_parts parts;
    int first[PL_MOST_PARTS]; /* variable of the sum that is a part's first one */
    pl_sum sum;
    double **time, **memory; /* [variables of the sum]                         */
    pl_sum_edge *edge;
    pl_arena *arena;
} refit;

static const pl_sum *sum_of(const refit *r, int part)
{
    return part == PL_PART_OUTSIDE ? &r->chain->outside : &r->chain->block;
}

static const int *values_of(const refit *r, int part)
{
    const int64_t before = part == PL_PART_OUTSIDE ? 0 : r->chain->outside.n;
    return r->value + before + (part == PL_PART_OUTSIDE ? 0 : (int64_t)part * r->chain->block.n);
}

/* The variable of the sum that a part's variable is, or -1. */
static int place(const refit *r, int part, int variable)
{
    for (int i = 0; i < r->parts.n; i++)
        if (r->parts.at[i] == part) return r->first[i] + variable;
    return -1;
}

/* to[] += from[0], from[step], ... */
static void add(double *to, const double *from, int n, int step)
{
    for (int x = 0; from && x < n; x++) to[x] += from[(int64_t)x * step];
}

/* An edge between variables of two parts, of which either may not be searched. */
static void join(refit *r, const pl_sum_edge *e, int part_a, int part_b)
{
    const int a = place(r, part_a, e->a), b = place(r, part_b, e->b);
    const int rows = sum_of(r, part_a)->n_values[e->a], cols = sum_of(r, part_b)->n_values[e->b];
    if (a >= 0 && b >= 0) {
        pl_sum_edge *to = &r->edge[r->sum.n_edges++];
        *to = *e;
        to->a = a, to->b = b;
    } else if (a >= 0) {
        const int y = values_of(r, part_b)[e->b];
        add(r->time[a], e->time + y, rows, cols);
        if (e->memory) add(r->memory[a], e->memory + y, rows, cols);
    } else if (b >= 0) {
        const int64_t row = (int64_t)values_of(r, part_a)[e->a] * cols;
        add(r->time[b], e->time + row, cols, 1);
        if (e->memory) add(r->memory[b], e->memory + row, cols, 1);
    }
}

static void join_all(refit *r, int n, const pl_sum_edge *edge, int part_a, int part_b)
{
    for (int i = 0; i < n; i++) join(r, &edge[i], part_a, part_b);
}

static void add_variables(refit *r, int part, int *n_values)
{
    const pl_sum *from = sum_of(r, part);
    for (int v = 0; v < from->n; v++) {
        const int size = from->n_values[v], at = r->sum.n++;
        n_values[at] = size;
        r->time[at] = PL_NEW_N(r->arena, double, size);
        r->memory[at] = PL_NEW_N(r->arena, double, size);
        if (from->time) add(r->time[at], from->time[v], size, 1);
        if (from->memory) add(r->memory[at], from->memory[v], size, 1);
    }
}

static void open_sum(refit *r)
{
    const pl_chain *c = r->chain;
    const int most = c->outside.n + PL_MOST_PARTS * c->block.n,
              edges = c->outside.n_edges + c->n_first + c->n_last + PL_MOST_PARTS * c->n_every +
                      PL_MOST_PARTS * (c->block.n_edges + c->n_links);
    int *n_values = PL_NEW_N(r->arena, int, most);
    r->time = PL_NEW_N(r->arena, double *, most);
    r->memory = PL_NEW_N(r->arena, double *, most);
    r->edge = PL_NEW_N(r->arena, pl_sum_edge, edges);
    for (int i = 0; i < r->parts.n; i++) {
        r->first[i] = r->sum.n;
        add_variables(r, r->parts.at[i], n_values);
    }
    r->sum.n_values = n_values;
    join_all(r, c->outside.n_edges, c->outside.edge, PL_PART_OUTSIDE, PL_PART_OUTSIDE);
    join_all(r, c->n_first, c->first, PL_PART_OUTSIDE, 0);
    join_all(r, c->n_last, c->last, PL_PART_OUTSIDE, c->copies - 1);
    for (int i = 0; i < c->copies; i++) {
        join_all(r, c->block.n_edges, c->block.edge, i, i);
        join_all(r, c->n_every, c->every, PL_PART_OUTSIDE, i);
        if (i + 1 < c->copies) join_all(r, c->n_links, c->link, i, i + 1);
    }
    r->sum.edge = r->edge;
    r->sum.time = (const double *const *)r->time;
    r->sum.memory = (const double *const *)r->memory;
}

int64_t pl_chain_refit(const pl_chain *chain, pl_cost weights, pl_parts parts,
                       const pl_search_options *options, int *value)
{
    refit r = {
        .chain = chain, .value = value, .parts = parts, .arena = pl_arena_new("parts of a chain")
    };
    open_sum(&r);
    int *now = PL_NEW_N(r.arena, int, r.sum.n);
    for (int i = 0; i < parts.n; i++)
        memcpy(now + r.first[i], values_of(&r, parts.at[i]),
               (size_t)sum_of(&r, parts.at[i])->n * sizeof *now);
    pl_search_options o = *options;
    o.start = now;
    const pl_minimum found = pl_solve_sum(&r.sum, weights, &o, r.arena);
    for (int i = 0; found.value && i < parts.n; i++)
        memcpy(value + (values_of(&r, parts.at[i]) - value), found.value + r.first[i],
               (size_t)sum_of(&r, parts.at[i])->n * sizeof *value);
    pl_arena_free(r.arena);
    return found.work;
}
