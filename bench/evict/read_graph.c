/* Graphs of the MOCCASIN repository as problems. */
#include "read.h"

#include "base/file.h"
#include "base/json.h"

#include <string.h>

typedef struct graph {
    int n, m;
    const pl_json *nodes, *links, *about;
    int *from, *to; /* [m] places in nodes */
    int *place;     /* [n] in the order */
} graph;

/* Names of nodes are numbers below n. */
static int find_node(const graph *g, const int *node_of, const pl_json *name)
{
    return pl_json_is(name, PL_JSON_INT) && name->whole >= 0 && name->whole < g->n
               ? node_of[name->whole]
               : -1;
}

static bool read_links(graph *g, const int *node_of, pl_arena *arena, pl_err *err)
{
    g->from = PL_NEW_N(arena, int, g->m);
    g->to = PL_NEW_N(arena, int, g->m);
    for (int e = 0; e < g->m; e++) {
        const pl_json *l = &g->links->at[e];
        const pl_json *a = pl_json_find(l, "source"), *b = pl_json_find(l, "target");
        g->from[e] = find_node(g, node_of, a ? a : pl_json_find(l, "0"));
        g->to[e] = find_node(g, node_of, b ? b : pl_json_find(l, "1"));
        if (g->from[e] < 0 || g->to[e] < 0)
            return pl_err_set(err, PL_EINPUT, "link %d does not join two nodes", e);
    }
    return true;
}

/* First come, first served among nodes whose inputs are placed; ties in the order of the links. */
static bool order_nodes(graph *g, const int *node_of, pl_arena *arena, pl_err *err)
{
    const pl_json *given = pl_json_find(g->about, "order");
    int *queue = PL_NEW_N(arena, int, g->n), *missing = PL_NEW_N(arena, int, g->n), n = 0;
    g->place = PL_NEW_N(arena, int, g->n);
    if (given) {
        for (int i = 0; i < given->n && n < g->n; i++) {
            int v = find_node(g, node_of, &given->at[i]);
            if (v >= 0) queue[n++] = v;
        }
    } else {
        for (int e = 0; e < g->m; e++) missing[g->to[e]]++;
        for (int v = 0; v < g->n; v++)
            if (missing[v] == 0) queue[n++] = v;
        for (int i = 0; i < n; i++)
            for (int e = 0; e < g->m; e++)
                if (g->from[e] == queue[i] && --missing[g->to[e]] == 0) queue[n++] = g->to[e];
    }
    if (n != g->n) return pl_err_set(err, PL_EINPUT, "an order of %d nodes, of %d", n, g->n);
    for (int i = 0; i < n; i++) g->place[queue[i]] = i;
    return true;
}

static bool fill(const graph *g, pl_arena *arena, pl_evict_problem *p, pl_err *err)
{
    double *seconds = PL_NEW_N(arena, double, g->n);
    int64_t *bytes = PL_NEW_N(arena, int64_t, g->n);
    int *maker = PL_NEW_N(arena, int, g->n), *read_at = PL_NEW_N(arena, int, g->n + 1);
    int *read = PL_NEW_N(arena, int, g->m);
    for (int v = 0; v < g->n; v++) {
        const pl_json *x = &g->nodes->at[v];
        const pl_json *cost = pl_json_find(x, "cost_cpu"), *ram = pl_json_find(x, "cost_ram");
        cost = cost ? cost : pl_json_find(x, "duration");
        ram = ram ? ram : pl_json_find(x, "out_cost");
        if (!pl_json_is_number(cost) || !pl_json_is_number(ram))
            return pl_err_set(err, PL_EINPUT, "node %d has no cost or no bytes", v);
        seconds[g->place[v]] = pl_json_real(cost);
        bytes[g->place[v]] = (int64_t)pl_json_real(ram);
    }
    for (int e = 0; e < g->m; e++) read_at[g->place[g->to[e]] + 1]++;
    for (int t = 0; t < g->n; t++) {
        maker[t] = t;
        read_at[t + 1] += read_at[t];
    }
    int *used = PL_NEW_N(arena, int, g->n);
    for (int e = 0; e < g->m; e++) {
        int t = g->place[g->to[e]];
        read[read_at[t] + used[t]++] = g->place[g->from[e]];
    }
    *p = (pl_evict_problem){ .n_op = g->n,
                             .seconds = seconds,
                             .n_value = g->n,
                             .bytes = bytes,
                             .maker = maker,
                             .read_at = read_at,
                             .read = read,
                             .most_runs = 2 };
    return true;
}

static bool read_all(const char *path, pl_arena *arena, pl_evict_problem *problem, pl_err *err)
{
    const char *text;
    size_t n;
    const pl_json *all;
    graph g = { 0 };
    PL_TRY(pl_file_read(path, (int64_t)1 << 30, arena, &text, &n, err));
    PL_TRY(pl_json_parse(text, n, PL_JSON_DEPTH, arena, &all, err));
    PL_TRY(pl_json_get(all, "nodes", PL_JSON_LIST, &g.nodes, err));
    PL_TRY(pl_json_get(all, "links", PL_JSON_LIST, &g.links, err));
    PL_TRY(pl_json_get(all, "graph", PL_JSON_OBJECT, &g.about, err));
    g.n = g.nodes->n;
    g.m = g.links->n;
    int *node_of = PL_NEW_N(arena, int, g.n);
    for (int v = 0; v < g.n; v++) {
        const pl_json *name = pl_json_find(&g.nodes->at[v], "id");
        name = name ? name : pl_json_find(&g.nodes->at[v], "name");
        if (!pl_json_is(name, PL_JSON_INT) || name->whole < 0 || name->whole >= g.n)
            return pl_err_set(err, PL_EINPUT, "node %d has no number below %d", v, g.n);
        node_of[name->whole] = v;
    }
    PL_TRY(read_links(&g, node_of, arena, err));
    PL_TRY(order_nodes(&g, node_of, arena, err));
    return fill(&g, arena, problem, err);
}

bool read_graph(const char *path, pl_arena *arena, pl_evict_problem *problem, pl_err *err)
{
    return read_all(path, arena, problem, err) || pl_err_in(err, "%s", path);
}
