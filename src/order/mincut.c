/* Minimum cut by Dinic's algorithm (1970). Tasks before the cut have run. A tensor with users on
 * both sides pays its bytes: it is an edge from a node that is on the near side as soon as one user
 * is, to one that is on the far side as soon as one user is (the usual gadget for hyperedges). */
#include "order/mincut.h"

#define ENDLESS (INT64_MAX / 2)

enum { NEAR = 0, FAR = 1, FREE = 2 }; /* nodes 0 and 1 are source and sink; free ones follow */

typedef struct arc {
    int to, next; /* arcs 2k and 2k+1 are each other's reverse */
    int64_t room;
} arc;

typedef struct net {
    const pl_index *x;
    pl_arena *a;
    int n;     /* nodes                                 */
    int *node; /* [x->n] of a task: NEAR, FAR or its own */
    struct {
        arc *at;
        int n, cap;
    } arcs;
    struct {
        int *at; /* first arc of a node, or -1 */
        int n, cap;
    } first;
    int64_t sure; /* bytes live whatever the cut */
    int *level, *now, *queue, *path;
} net;

static int add_node(net *g)
{
    PL_PUSH(g->a, &g->first, -1);
    return g->n++;
}

static void add_arc(net *g, int from, int to, int64_t room)
{
    arc there = { to, g->first.at[from], room }, back = { from, 0, 0 };
    g->first.at[from] = g->arcs.n;
    PL_PUSH(g->a, &g->arcs, there);
    back.next = g->first.at[to];
    g->first.at[to] = g->arcs.n;
    PL_PUSH(g->a, &g->arcs, back);
}

/* All that `task` reaches through at/list gets the node `side`. */
static void spread(net *g, int task, int side, const int *at, const int *list)
{
    int n = 0;
    g->node[task] = side;
    g->queue[n++] = task;
    for (int i = 0; i < n; i++)
        for (int e = at[g->queue[i]]; e < at[g->queue[i] + 1]; e++) {
            if (g->node[list[e]] == side) continue;
            g->node[list[e]] = side;
            g->queue[n++] = list[e];
        }
}

static void add_tasks(net *g, int task, int n_later, const int later[])
{
    const pl_index *x = g->x;
    g->node = PL_NEW_N(g->a, int, x->n);
    g->queue = PL_NEW_N(g->a, int, x->n + 1);
    for (int t = 0; t < x->n; t++) g->node[t] = FREE;
    spread(g, task, NEAR, x->pred_at, x->pred);
    spread(g, task, FAR, x->succ_at, x->succ);
    for (int i = 0; i < n_later; i++) spread(g, later[i], FAR, x->succ_at, x->succ);
    for (int t = 0; t < x->n; t++)
        if (g->node[t] == FREE) g->node[t] = add_node(g);
    for (int t = 0; t < x->n; t++) {
        if (g->node[t] < FREE) continue;
        for (int e = x->pred_at[t]; e < x->pred_at[t + 1]; e++)
            if (g->node[x->pred[e]] >= FREE) add_arc(g, g->node[t], g->node[x->pred[e]], ENDLESS);
    }
}

static void add_tensor(net *g, int tensor, int task)
{
    const pl_index *x = g->x;
    bool near = x->start[tensor], far = x->end[tensor], used = false;
    for (int u = x->user_at[tensor]; u < x->user_at[tensor + 1]; u++) {
        int t = x->user[u];
        used = used || t == task;
        near = near || g->node[t] == NEAR;
        far = far || g->node[t] == FAR;
    }
    if (used || (near && far)) {
        g->sure += x->bytes[tensor];
        return;
    }
    int in = near ? NEAR : add_node(g), out = far ? FAR : add_node(g);
    add_arc(g, in, out, x->bytes[tensor]);
    for (int u = x->user_at[tensor]; u < x->user_at[tensor + 1]; u++) {
        int t = g->node[x->user[u]];
        if (t < FREE) continue;
        if (!near) add_arc(g, t, in, ENDLESS);
        if (!far) add_arc(g, out, t, ENDLESS);
    }
}

/* Breadth first from the sink; false: the source is cut off. */
static bool level_nodes(net *g, int64_t *effort)
{
    for (int v = 0; v < g->n; v++) g->level[v] = -1;
    int n = 0;
    g->level[FAR] = 0;
    g->queue[n++] = FAR;
    for (int i = 0; i < n; i++) {
        int v = g->queue[i];
        for (int e = g->first.at[v]; e >= 0; e = g->arcs.at[e].next, (*effort)--) {
            int w = g->arcs.at[e].to;
            if (g->arcs.at[e ^ 1].room == 0 || g->level[w] >= 0) continue;
            g->level[w] = g->level[v] + 1;
            g->queue[n++] = w;
        }
    }
    return g->level[NEAR] >= 0;
}

static int64_t push(net *g, int depth)
{
    int64_t flow = ENDLESS;
    for (int i = 0; i < depth; i++) {
        int64_t room = g->arcs.at[g->path[i]].room;
        flow = room < flow ? room : flow;
    }
    for (int i = 0; i < depth; i++) {
        g->arcs.at[g->path[i]].room -= flow;
        g->arcs.at[g->path[i] ^ 1].room += flow;
    }
    return flow;
}

/* After a push the walk goes on from the first arc that is full. */
static int keep_open(const net *g, int depth)
{
    for (int i = 0; i < depth; i++)
        if (g->arcs.at[g->path[i]].room == 0) return i;
    return depth;
}

/* A blocking flow along the levels, depth first with an explicit path. */
static int64_t block(net *g, int64_t *effort)
{
    int64_t flow = 0;
    for (int v = 0; v < g->n; v++) g->now[v] = g->first.at[v];
    int depth = 0, v = NEAR;
    while (*effort > 0) {
        if (v == FAR) {
            flow += push(g, depth);
            *effort -= depth;
            depth = keep_open(g, depth);
            v = g->arcs.at[g->path[depth] ^ 1].to;
            continue;
        }
        int e = g->now[v];
        for (; e >= 0; e = g->arcs.at[e].next, (*effort)--)
            if (g->arcs.at[e].room > 0 && g->level[g->arcs.at[e].to] == g->level[v] - 1) break;
        g->now[v] = e;
        if (e >= 0) {
            g->path[depth++] = e;
            v = g->arcs.at[e].to;
        } else {
            if (v == NEAR) break;
            g->level[v] = -1;
            v = g->arcs.at[g->path[--depth] ^ 1].to;
        }
    }
    return flow;
}

static int64_t cut(net *g, int task, int n_later, const int later[], int64_t *effort)
{
    add_node(g);
    add_node(g);
    add_tasks(g, task, n_later, later);
    g->sure = g->x->base;
    for (int t = 0; t < g->x->m; t++) add_tensor(g, t, task);
    *effort -= g->x->n + g->x->m;
    g->level = PL_NEW_N(g->a, int, g->n);
    g->now = PL_NEW_N(g->a, int, g->n);
    g->queue = PL_NEW_N(g->a, int, g->n);
    g->path = PL_NEW_N(g->a, int, g->n);
    int64_t flow = 0;
    while (*effort > 0 && level_nodes(g, effort)) flow += block(g, effort);
    return g->sure + flow;
}

int64_t pl_mincut_live(const pl_index *index, int task, int n_later, const int later[], bool ran[],
                       int64_t *effort)
{
    pl_arena *tmp = pl_arena_new("min-cut bound");
    net g = { .x = index, .a = tmp };
    int64_t bound = cut(&g, task, n_later, later, effort);
    for (int t = 0; ran && t < index->n; t++) ran[t] = g.node[t] >= FREE && g.level[g.node[t]] < 0;
    pl_arena_free(tmp);
    return bound;
}
