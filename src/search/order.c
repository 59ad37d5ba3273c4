/* The order of elimination (eliminate.h). */
#include "search/eliminate.h"

#include <math.h>

/* Which variables share a table, as rows of bits; and the entries of a variable's bucket. */
typedef struct graph {
    int n, words;
    const int *size;
    uint64_t *row;
    double *entries;
} graph;

static uint64_t *row_of(const graph *g, int v)
{
    return g->row + (size_t)v * (size_t)g->words;
}

static void link_all(graph *g, const pl_table *t, const int *number)
{
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n; k++)
            if (k != i)
                row_of(g, number[t->var[i]])[number[t->var[k]] / 64] |= UINT64_C(1)
                                                                        << number[t->var[k]] % 64;
}

static void count_entries(graph *g, int v)
{
    double entries = g->size[v];
    for (int w = 0; w < g->words; w++)
        for (uint64_t bits = row_of(g, v)[w]; bits; bits &= bits - 1)
            entries *= g->size[w * 64 + __builtin_ctzll(bits)];
    g->entries[v] = entries;
}

/* The neighbours of v become neighbours of each other. */
static void take_out(graph *g, int v)
{
    const uint64_t *mine = row_of(g, v);
    for (int w = 0; w < g->words; w++)
        for (uint64_t bits = mine[w]; bits; bits &= bits - 1) {
            int u = w * 64 + __builtin_ctzll(bits);
            uint64_t *theirs = row_of(g, u);
            for (int i = 0; i < g->words; i++) theirs[i] |= mine[i];
            theirs[v / 64] &= ~(UINT64_C(1) << v % 64);
            theirs[u / 64] &= ~(UINT64_C(1) << u % 64);
        }
    for (int w = 0; w < g->words; w++)
        for (uint64_t bits = mine[w]; bits; bits &= bits - 1)
            count_entries(g, w * 64 + __builtin_ctzll(bits));
}

/* Which variables have a neighbour, and their rows of bits by their number among those. */
static int find_joined(int n, int n_tables, const pl_table *table, int *number, pl_arena *a)
{
    bool *joined = PL_NEW_N(a, bool, n);
    int count = 0;
    for (int t = 0; t < n_tables; t++)
        for (int i = 0; table[t].n > 1 && i < table[t].n; i++) joined[table[t].var[i]] = true;
    for (int v = 0; v < n; v++) number[v] = joined[v] ? count++ : -1;
    return count;
}

pl_order pl_order_find(int n, const int *size, int n_tables, const pl_table *table,
                       const bool *keep, pl_arena *a)
{
    pl_order o = { 0, PL_NEW_N(a, int, n), 1, 0 };
    int *number = PL_NEW_N(a, int, n), count = find_joined(n, n_tables, table, number, a), left = 0;
    int *var = PL_NEW_N(a, int, count), *of_size = PL_NEW_N(a, int, count);
    int *open = PL_NEW_N(a, int, count);
    double rest = 1;
    for (int v = 0; v < n; v++) {
        if (keep && keep[v]) rest *= size[v];
        if (number[v] >= 0) {
            var[number[v]] = v;
            of_size[number[v]] = size[v];
            if (!keep || !keep[v]) open[left++] = number[v];
        } else if (!keep || !keep[v]) {
            o.var[o.n++] = v;
            o.work += size[v];
        }
    }
    graph g = { count, (count + 63) / 64, of_size, NULL, PL_NEW_N(a, double, count) };
    g.row = pl_arena_get(a, (size_t)count * (size_t)g.words, sizeof *g.row);
    for (int t = 0; t < n_tables; t++)
        if (table[t].n > 1) link_all(&g, &table[t], number);
    for (int v = 0; v < count; v++) count_entries(&g, v);
    while (left > 0) {
        int at = 0;
        for (int i = 1; i < left; i++)
            if (g.entries[open[i]] < g.entries[open[at]]) at = i;
        int v = open[at];
        o.most = fmax(o.most, g.entries[v] / of_size[v]);
        o.work += g.entries[v];
        o.var[o.n++] = var[v];
        take_out(&g, v);
        for (left--; at < left; at++) open[at] = open[at + 1];
    }
    o.most = fmax(o.most, rest);
    o.work += rest;
    return o;
}
