/* The order of elimination (eliminate.h), greedily: pl_order_find() takes the variable whose
 * bucket has the fewest entries, and take_out() joins its neighbours. */
#include "search/eliminate.h"

#include <math.h>

/* Which variables share a table, the entries of a variable's bucket, and a heap of those that are
 * left, the fewest entries on top. */
typedef struct graph {
    const int *size;
    int **near, *n_near, *cap_near; /* neighbours                                               */
    double *entries;
    int n_heap, *heap, *place; /* place[v] in the heap; -1: not there                      */
    int *mark, stamp;
    pl_arena *arena;
} graph;

static bool is_less(const graph *g, int u, int v)
{
    return g->entries[u] != g->entries[v] ? g->entries[u] < g->entries[v] : u < v;
}

static void put(graph *g, int at, int v)
{
    g->heap[at] = v;
    g->place[v] = at;
}

/* Moves v from `at` to where it belongs. */
static void sift(graph *g, int at, int v)
{
    for (; at > 0 && is_less(g, v, g->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(g, at, g->heap[(at - 1) / 2]);
    for (int child; (child = 2 * at + 1) < g->n_heap; at = child) {
        if (child + 1 < g->n_heap && is_less(g, g->heap[child + 1], g->heap[child])) child++;
        if (!is_less(g, g->heap[child], v)) break;
        put(g, at, g->heap[child]);
    }
    put(g, at, v);
}

static int take_top(graph *g)
{
    int v = g->heap[0], last = g->heap[--g->n_heap];
    if (g->n_heap) sift(g, 0, last);
    g->place[v] = -1;
    return v;
}

static void add_near(graph *g, int v, int u)
{
    if (g->n_near[v] == g->cap_near[v])
        g->near[v] = pl_arena_grow(g->arena, g->near[v], &g->cap_near[v], sizeof *g->near[v]);
    g->near[v][g->n_near[v]++] = u;
}

/* Marks v and its neighbours. */
static void mark_near(graph *g, int v)
{
    g->stamp++;
    g->mark[v] = g->stamp;
    for (int i = 0; i < g->n_near[v]; i++) g->mark[g->near[v][i]] = g->stamp;
}

static void count_entries(graph *g, int v)
{
    g->entries[v] = g->size[v];
    for (int i = 0; i < g->n_near[v]; i++) g->entries[v] *= g->size[g->near[v][i]];
}

static void link_all(graph *g, const pl_sum_table *table)
{
    for (int i = 0; i < table->n; i++) {
        mark_near(g, table->var[i]);
        for (int k = 0; k < table->n; k++)
            if (g->mark[table->var[k]] != g->stamp) add_near(g, table->var[i], table->var[k]);
    }
}

/* The neighbours of v become neighbours of each other. */
static void take_out(graph *g, int v)
{
    for (int i = 0; i < g->n_near[v]; i++) {
        int u = g->near[v][i], n = 0;
        mark_near(g, u);
        for (int k = 0; k < g->n_near[v]; k++)
            if (g->mark[g->near[v][k]] != g->stamp) add_near(g, u, g->near[v][k]);
        for (int k = 0; k < g->n_near[u]; k++)
            if (g->near[u][k] != v) g->near[u][n++] = g->near[u][k];
        g->n_near[u] = n;
        count_entries(g, u);
        if (g->place[u] >= 0) sift(g, g->place[u], u);
    }
}

static graph graph_new(int n, const int *size, int n_tables, const pl_sum_table *table,
                       pl_arena *arena)
{
    graph g = { .size = size,
                .near = PL_NEW_N(arena, int *, n),
                .n_near = PL_NEW_N(arena, int, n),
                .cap_near = PL_NEW_N(arena, int, n),
                .entries = PL_NEW_N(arena, double, n),
                .heap = PL_NEW_N(arena, int, n),
                .place = PL_NEW_N(arena, int, n),
                .mark = PL_NEW_N(arena, int, n),
                .arena = arena };
    for (int t = 0; t < n_tables; t++)
        if (table[t].n > 1) link_all(&g, &table[t]);
    for (int v = 0; v < n; v++) count_entries(&g, v);
    return g;
}

pl_order pl_order_find(int n, const int *size, int n_tables, const pl_sum_table *table,
                       const bool *keep, double most_work, pl_arena *arena)
{
    pl_order o = { 0, PL_NEW_N(arena, int, n), 1, 0 };
    graph g = graph_new(n, size, n_tables, table, arena);
    double rest = 1;
    for (int v = 0; v < n; v++) {
        g.place[v] = -1;
        if (keep && keep[v])
            rest *= size[v];
        else
            sift(&g, g.n_heap++, v);
    }
    while (g.n_heap && o.work <= most_work) {
        int v = take_top(&g);
        o.most = fmax(o.most, g.entries[v] / size[v]);
        o.work += g.entries[v];
        o.var[o.n++] = v;
        take_out(&g, v);
    }
    o.most = fmax(o.most, rest);
    o.work += rest;
    if (g.n_heap) o.work = INFINITY;
    return o;
}
