#include "plan/offload.h"

#include "graph/op.h"

#include <stdlib.h>

/* -- what is too small ------------------------------------------------------------------------- */

enum { SMALL = 1000 }; /* 1 / so many of the largest: the same with any number of equal blocks */

static int by_bytes(const void *a, const void *b)
{
    const int64_t x = pl_value_bytes(*(const pl_value *const *)a),
                  y = pl_value_bytes(*(const pl_value *const *)b);
    return (x > y) - (x < y);
}

/* Leaves the larger of n values; returns how many. */
static int drop_small(const pl_value *v[], int n)
{
    int from = 0;
    qsort(v, (size_t)n, sizeof *v, by_bytes);
    while (from < n && pl_value_bytes(v[from]) < pl_value_bytes(v[n - 1]) / SMALL) from++;
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

/* -- updates ----------------------------------------------------------------------------------- */

static bool is_hosted(const pl_plan *p, const pl_value *v)
{
    return v->role == PL_STATE && !v->maker && p->stored[v->id].host;
}

/* Does it change a state that lies on the host in place, or cast one? */
static bool works_on_hosted(const pl_plan *p, const pl_node *n)
{
    const char *at = n->op->inplace ? n->op->inplace : "";
    bool any = n->n_out && pl_graph_state(n->out[0]) && is_hosted(p, n->in[0]);
    for (int k = 0; at[k]; k++) any |= at[k] != '-' && is_hosted(p, n->in[at[k] - '0']);
    return any;
}

/* Does it cast a gradient to a wider type for readers on the host alone, or reduce one to a number
 * that all else reads there? `away` [values]: some node reads it, and all that do run there. */
static bool serves_hosted(const pl_plan *p, const pl_node *n, const bool *away)
{
    if (n->n_in != 1 || !n->n_out || n->phase == PL_FORWARD) return false;
    const pl_value *x = n->in[0], *y = n->out[0];
    if (pl_plan_operand(p, n->id, 0).pending) return false;
    if (n->op->elementwise && pl_type_bytes(x->type) < pl_type_bytes(y->type)) return away[y->id];
    return n->phase == PL_UPDATE && x->shape.rank && !y->shape.rank && away[x->id];
}

/* Does it cast what an update on the host leaves to a narrower type? */
static bool casts_update(const pl_plan *p, const pl_node *n)
{
    if (n->n_in != 1 || n->phase != PL_UPDATE || !n->op->elementwise) return false;
    const pl_node *maker = n->in[0]->maker;
    return maker && p->on_host[maker->id] && pl_plan_can_run_on_host(p, n) &&
           pl_type_bytes(n->out[0]->type) < pl_type_bytes(n->in[0]->type);
}

/* Those of its readers that are numbered from `from` on. */
static void mark_away(const pl_plan *p, int from, bool *seen, bool *away)
{
    const pl_node *n = p->graph->nodes.at[from];
    for (int k = 0; k < n->n_in; k++) {
        const int v = n->in[k]->id;
        away[v] = p->on_host[from] && (away[v] || !seen[v]);
        seen[v] = true;
    }
}

bool pl_plan_offload_updates(pl_plan *p)
{
    pl_arena *tmp = pl_arena_new("updates on the host");
    bool *seen = PL_NEW_N(tmp, bool, p->graph->values.n + 1), any = false;
    bool *away = PL_NEW_N(tmp, bool, p->graph->values.n + 1);
    for (int i = p->graph->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = p->graph->nodes.at[i];
        p->on_host[i] = works_on_hosted(p, n) || serves_hosted(p, n, away);
        p->on_host[i] = p->on_host[i] && pl_plan_can_run_on_host(p, n);
        any |= p->on_host[i];
        mark_away(p, i, seen, away);
    }
    for (int i = 0; i < p->graph->nodes.n; i++)
        p->on_host[i] |= casts_update(p, p->graph->nodes.at[i]);
    pl_arena_free(tmp);
    return any;
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
