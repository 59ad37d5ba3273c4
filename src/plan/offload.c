#include "plan/offload.h"

#include "graph/op.h"

#include <stdlib.h>

/* -- what is too small ------------------------------------------------------------------------- */

enum { SMALL = 100 }; /* 1 / so many of all bytes */

static int by_bytes(const void *a, const void *b)
{
    const int64_t x = pl_value_bytes(*(const pl_value *const *)a),
                  y = pl_value_bytes(*(const pl_value *const *)b);
    return (x > y) - (x < y);
}

/* Leaves the larger of n values, each size in all or none; returns how many. */
static int drop_small(const pl_value *v[], int n)
{
    int64_t all = 0, sum = 0;
    int from = 0;
    qsort(v, (size_t)n, sizeof *v, by_bytes);
    for (int i = 0; i < n; i++) all += pl_value_bytes(v[i]);
    for (int i = 0; i < n; i++) {
        sum += pl_value_bytes(v[i]);
        const bool last = i + 1 == n || pl_value_bytes(v[i + 1]) > pl_value_bytes(v[i]);
        if (last && sum <= all / SMALL) from = i + 1;
    }
    for (int i = from; i < n; i++) v[i - from] = v[i];
    return n - from;
}

/* -- states ------------------------------------------------------------------------------------ */

bool pl_plan_offload_states(pl_plan *p, pl_state_kind kind)
{
    pl_arena *tmp = pl_arena_new("offloaded states");
    const pl_value **v = PL_NEW_N(tmp, const pl_value *, p->graph->values.n + 1);
    int n = 0;
    for (int i = 0; i < p->graph->values.n; i++) {
        const pl_value *x = p->graph->values.at[i];
        if (x->role == PL_STATE && x->kind == kind && x->shape.rank) v[n++] = x;
    }
    n = drop_small(v, n);
    for (int i = 0; i < n; i++) p->stored[v[i]->id].host = true;
    pl_arena_free(tmp);
    return n;
}

/* -- activations ------------------------------------------------------------------------------- */

bool pl_plan_can_offload(const pl_value *v)
{
    return v->maker && v->maker->phase == PL_FORWARD && v->shape.rank && !pl_graph_state(v);
}

/* Is it a view that can be made again of what it looks at, once that is back? */
static bool is_free_again(const pl_value *v)
{
    return v->maker->op->view && pl_plan_can_recompute(v);
}

/* The last node of the forward pass that is in an equal block; where there are none, all. */
static int find_end(const pl_graph *g, const pl_fold *fold)
{
    int end = -1;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->phase == PL_FORWARD && fold->class_of[i] >= 0) end = i;
    return end < 0 ? g->nodes.n : end;
}

/* [values] backward nodes, or those that run again for them, read it. */
static bool *find_saved(const pl_plan *p, pl_arena *tmp)
{
    bool *saved = PL_NEW_N(tmp, bool, p->graph->values.n + 1);
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        bool again = false;
        for (int k = 0; k < n->n_out; k++) again |= p->recompute[n->out[k]->id];
        for (int k = 0; k < n->n_in; k++) saved[n->in[k]->id] |= n->phase == PL_BACKWARD || again;
    }
    return saved;
}

void pl_plan_offload(pl_plan *p, const pl_value *v, pl_arena *out)
{
    const pl_placement home = pl_plan_operand(p, v->maker->id, v->maker->n_in + v->out);
    pl_placement *x = PL_NEW(out, pl_placement);
    *x = p->kept[v->id] ? *p->kept[v->id] : home;
    x->host = true;
    p->kept[v->id] = x;
}

bool pl_plan_offload_activations(pl_plan *p, const pl_fold *fold, pl_arena *out)
{
    const pl_graph *g = p->graph;
    pl_arena *tmp = pl_arena_new("offloaded activations");
    const pl_value **found = PL_NEW_N(tmp, const pl_value *, g->values.n + 1);
    bool *saved = find_saved(p, tmp);
    int n_found = 0;
    for (int i = find_end(g, fold); i >= 0; i--) { /* what a view looks at comes before it */
        const pl_node *n = i < g->nodes.n ? g->nodes.at[i] : NULL;
        for (int k = 0; n && k < n->n_out; k++) {
            const pl_value *v = n->out[k];
            if (!saved[v->id] || !pl_plan_can_offload(v) || p->recompute[v->id]) continue;
            if (!is_free_again(v)) {
                found[n_found++] = v;
                continue;
            }
            p->recompute[v->id] = saved[n->in[0]->id] = true;
            p->kept[v->id] = NULL;
        }
    }
    n_found = drop_small(found, n_found);
    for (int i = 0; i < n_found; i++) pl_plan_offload(p, found[i], out);
    pl_arena_free(tmp);
    return n_found;
}
