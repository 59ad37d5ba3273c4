/* A chain: checks, costs, written out as one sum (pl_chain_unroll), and with all copies tied
 * (pl_chain_tie). */
#include "chain/chain.h"

#include <math.h>
#include <string.h>

static bool check_edges(const char *what, int n, const pl_sum_edge *edge, const pl_sum *a,
                        const pl_sum *b, pl_err *err)
{
    for (int p = 0; p < n; p++) {
        if (edge[p].a < 0 || edge[p].a >= a->n || edge[p].b < 0 || edge[p].b >= b->n)
            return pl_err_set(err, PL_EINPUT,
                              "%s: edge %d joins variables %d and %d; they go up to %d and %d",
                              what, p, edge[p].a, edge[p].b, a->n - 1, b->n - 1);
        PL_TRY(pl_sum_check_edge(&edge[p], a->n_values[edge[p].a], b->n_values[edge[p].b], what, p,
                                 err));
    }
    return true;
}

bool pl_chain_check(const pl_chain *chain, pl_err *err)
{
    if (chain->copies < 1)
        return pl_err_set(err, PL_EINPUT, "a chain of %d copies; it needs one or more",
                          chain->copies);
    if (chain->outside.n + (int64_t)chain->copies * chain->block.n > INT32_MAX / 2)
        return pl_err_set(err, PL_EINPUT, "a chain of %d copies of %d variables is too long",
                          chain->copies, chain->block.n);
    PL_TRY(pl_sum_check(&chain->outside, "outside", err));
    PL_TRY(pl_sum_check(&chain->block, "block", err));
    PL_TRY(check_edges("links", chain->n_links, chain->link, &chain->block, &chain->block, err));
    PL_TRY(check_edges("first", chain->n_first, chain->first, &chain->outside, &chain->block, err));
    PL_TRY(check_edges("last", chain->n_last, chain->last, &chain->outside, &chain->block, err));
    return check_edges("every", chain->n_every, chain->every, &chain->outside, &chain->block, err);
}

int64_t pl_chain_variables(const pl_chain *chain)
{
    return chain->outside.n + (int64_t)chain->copies * chain->block.n;
}

static double count_entries(int n, const pl_sum_edge *edge, const int *na, const int *nb)
{
    double entries = 0;
    for (int p = 0; p < n; p++) entries += (double)na[edge[p].a] * nb[edge[p].b];
    return entries;
}

double pl_chain_outside_entries(const pl_chain *chain)
{
    const int *n = chain->outside.n_values;
    return count_entries(chain->outside.n_edges, chain->outside.edge, n, n);
}

double pl_chain_block_entries(const pl_chain *chain)
{
    const int *na = chain->outside.n_values, *nb = chain->block.n_values;
    return count_entries(chain->block.n_edges, chain->block.edge, nb, nb) +
           count_entries(chain->n_every, chain->every, na, nb) +
           count_entries(chain->n_links, chain->link, nb, nb);
}

pl_cost pl_chain_cost(const pl_chain *chain, const int *value)
{
    const int *block = value + chain->outside.n,
              *last = block + (chain->copies - 1) * chain->block.n;
    pl_cost sum = pl_sum_cost(&chain->outside, value);
    pl_sum_add_edges(&sum, chain->n_first, chain->first, chain->block.n_values, value, block);
    pl_sum_add_edges(&sum, chain->n_last, chain->last, chain->block.n_values, value, last);
    for (int i = 0; i < chain->copies; i++, block += chain->block.n) {
        pl_cost own = pl_sum_cost(&chain->block, block);
        sum.time += own.time;
        sum.memory += own.memory;
        pl_sum_add_edges(&sum, chain->n_every, chain->every, chain->block.n_values, value, block);
        if (i + 1 < chain->copies)
            pl_sum_add_edges(&sum, chain->n_links, chain->link, chain->block.n_values, block,
                             block + chain->block.n);
    }
    return sum;
}

double pl_chain_weighted(const pl_chain *chain, pl_cost weights, const int *value)
{
    const pl_cost c = pl_chain_cost(chain, value);
    return isinf(c.time) ? INFINITY : weights.time * c.time + weights.memory * c.memory;
}

/* The edges of a list, their variables moved to where the two sides start in the long sum. */
static pl_sum_edge *place_edges(pl_sum_edge *to, int n, const pl_sum_edge *edge, int a, int b)
{
    for (int p = 0; p < n; p++)
        *to++ = (pl_sum_edge){ a + edge[p].a, b + edge[p].b, edge[p].time, edge[p].memory };
    return to;
}

pl_sum pl_chain_unroll(const pl_chain *chain, pl_arena *arena)
{
    const pl_sum *o = &chain->outside, *b = &chain->block;
    int n = (int)pl_chain_variables(chain), last = o->n + (chain->copies - 1) * b->n;
    int n_edges = o->n_edges + chain->copies * (b->n_edges + chain->n_every) +
                  (chain->copies - 1) * chain->n_links + chain->n_first + chain->n_last;
    int *n_values = PL_NEW_N(arena, int, n);
    const double **time = PL_NEW_N(arena, const double *, n);
    const double **memory = PL_NEW_N(arena, const double *, n);
    for (int i = 0; i < n; i++) {
        const pl_sum *part = i < o->n ? o : b;
        int v = i < o->n ? i : (i - o->n) % b->n;
        n_values[i] = part->n_values[v];
        time[i] = part->time ? part->time[v] : NULL;
        memory[i] = part->memory ? part->memory[v] : NULL;
    }
    pl_sum_edge *edge = PL_NEW_N(arena, pl_sum_edge, n_edges), *to = edge;
    to = place_edges(to, o->n_edges, o->edge, 0, 0);
    to = place_edges(to, chain->n_first, chain->first, 0, o->n);
    for (int i = 0, at = o->n; i < chain->copies; i++, at += b->n) {
        to = place_edges(to, b->n_edges, b->edge, at, at);
        to = place_edges(to, chain->n_every, chain->every, 0, at);
        if (i + 1 < chain->copies) to = place_edges(to, chain->n_links, chain->link, at, at + b->n);
    }
    place_edges(to, chain->n_last, chain->last, 0, last);
    return (pl_sum){ n, n_values, time, memory, n_edges, edge };
}

static double *scale(const double *table, int64_t n, double by, pl_arena *arena)
{
    if (!table) return NULL;
    double *out = pl_arena_get(arena, (size_t)n, sizeof *out);
    for (int64_t i = 0; i < n; i++) out[i] = table[i] * by;
    return out;
}

/* A link of a variable to itself costs, when both ends are tied, its diagonal. */
static double *add_diagonals(const pl_chain *chain, int v, const double *row, bool memory,
                             pl_arena *arena)
{
    int n = chain->block.n_values[v];
    double *out = PL_NEW_N(arena, double, n);
    for (int x = 0; x < n; x++) out[x] = row ? row[x] * chain->copies : 0;
    for (int p = 0; p < chain->n_links; p++) {
        const double *table = memory ? chain->link[p].memory : chain->link[p].time;
        if (chain->link[p].a != v || chain->link[p].b != v || !table || chain->copies == 1)
            continue;
        for (int x = 0; x < n; x++) out[x] += table[x * n + x] * (chain->copies - 1);
    }
    return out;
}

static pl_sum_edge *tie_edges(pl_sum_edge *to, int n, const pl_sum_edge *edge, int a, int b,
                              const int *n_values, double by, pl_arena *arena)
{
    for (int p = 0; p < n; p++) {
        int va = a + edge[p].a, vb = b + edge[p].b;
        int64_t count = (int64_t)n_values[va] * n_values[vb];
        if (va == vb || by <= 0) continue;
        *to++ = (pl_sum_edge){ va, vb, scale(edge[p].time, count, by, arena),
                               scale(edge[p].memory, count, by, arena) };
    }
    return to;
}

pl_sum pl_chain_tie(const pl_chain *chain, pl_arena *arena)
{
    const pl_sum *o = &chain->outside, *b = &chain->block;
    int n = o->n + b->n, most = o->n_edges + b->n_edges + chain->n_links + chain->n_first +
                                chain->n_last + chain->n_every;
    int *n_values = PL_NEW_N(arena, int, n);
    const double **time = PL_NEW_N(arena, const double *, n);
    const double **memory = PL_NEW_N(arena, const double *, n);
    for (int v = 0; v < o->n; v++) {
        n_values[v] = o->n_values[v];
        time[v] = o->time ? o->time[v] : NULL;
        memory[v] = o->memory ? o->memory[v] : NULL;
    }
    for (int v = 0; v < b->n; v++) {
        n_values[o->n + v] = b->n_values[v];
        time[o->n + v] = add_diagonals(chain, v, b->time ? b->time[v] : NULL, false, arena);
        memory[o->n + v] = add_diagonals(chain, v, b->memory ? b->memory[v] : NULL, true, arena);
    }
    pl_sum_edge *edge = PL_NEW_N(arena, pl_sum_edge, most), *to = edge;
    to = tie_edges(to, o->n_edges, o->edge, 0, 0, n_values, 1, arena);
    to = tie_edges(to, chain->n_first, chain->first, 0, o->n, n_values, 1, arena);
    to = tie_edges(to, chain->n_last, chain->last, 0, o->n, n_values, 1, arena);
    to = tie_edges(to, chain->n_every, chain->every, 0, o->n, n_values, chain->copies, arena);
    to = tie_edges(to, b->n_edges, b->edge, o->n, o->n, n_values, chain->copies, arena);
    to = tie_edges(to, chain->n_links, chain->link, o->n, o->n, n_values, chain->copies - 1, arena);
    return (pl_sum){ n, n_values, time, memory, (int)(to - edge), edge };
}

int *pl_chain_untie(const pl_chain *chain, const int *tied, pl_arena *arena)
{
    int n = chain->outside.n, b = chain->block.n;
    int *value = pl_arena_get(arena, (size_t)pl_chain_variables(chain), sizeof *value);
    for (int64_t v = 0; v < pl_chain_variables(chain); v++)
        value[v] = tied[v < n ? v : n + (v - n) % b];
    return value;
}
