/* A part of a step: which nodes it needs (find_needed), then copies of these and of what they read
 * and make. */
#include "graph/excerpt.h"

typedef struct cutting {
    const pl_graph *whole;
    const bool *keeps;
    pl_graph *graph;
    bool *needed, *there; /* [nodes], [values] of the whole */
    pl_value **value;     /* [values] its copy, or NULL     */
    pl_node **node;       /* [nodes]                        */
} cutting;

static void need(cutting *x, const pl_value *v)
{
    x->there[v->id] = true;
    if (v->maker) x->needed[v->maker->id] = true;
}

static void find_needed(cutting *x)
{
    const pl_graph *g = x->whole;
    for (int i = 0; i < g->outputs.n; i++)
        if (x->keeps[g->outputs.at[i]->id]) need(x, g->outputs.at[i]);
    for (int i = 0; i < g->values.n; i++) {
        if (!g->values.at[i]->next || !x->keeps[i]) continue;
        need(x, g->values.at[i]);
        need(x, g->values.at[i]->next);
    }
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const pl_node *n = g->nodes.at[i];
        if (!x->needed[i]) continue;
        for (int k = 0; k < n->n_in; k++) need(x, n->in[k]);
        for (int k = 0; k < n->n_out; k++) x->there[n->out[k]->id] = true;
    }
}

pl_value *pl_graph_copy_value(pl_graph *to, const pl_value *v, const char *name)
{
    pl_value *y = PL_NEW(to->arena, pl_value);
    *y = *v;
    y->id = to->values.n;
    y->name = name;
    PL_PUSH(to->arena, &to->values, y);
    pl_map_put(&to->names, pl_hash_text(0, name), y->id, to->arena);
    return y;
}

static void copy_values(cutting *x, int *id)
{
    for (int v = 0; v < x->whole->values.n; v++) {
        const pl_value *was = x->whole->values.at[v];
        if (!x->there[v]) continue;
        id[x->graph->values.n] = v;
        x->value[v] = pl_graph_copy_value(x->graph, was, was->name);
    }
}

static void copy_nodes(cutting *x, int *id)
{
    for (int i = 0; i < x->whole->nodes.n; i++) {
        const pl_node *n = x->whole->nodes.at[i];
        if (!x->needed[i]) continue;
        pl_node *y = PL_NEW(x->graph->arena, pl_node);
        *y = *n;
        id[x->graph->nodes.n] = i;
        y->id = x->graph->nodes.n;
        y->of = n->of ? x->node[n->of->id] : NULL; /* a forward node, which stands before */
        for (int k = 0; k < n->n_in; k++) y->in[k] = x->value[n->in[k]->id];
        for (int k = 0; k < n->n_out; k++) {
            y->out[k] = x->value[n->out[k]->id];
            y->out[k]->maker = y;
        }
        PL_PUSH(x->graph->arena, &x->graph->nodes, y);
        x->node[i] = y;
    }
}

static void link_values(cutting *x)
{
    const pl_graph *g = x->whole;
    for (int v = 0; v < g->values.n; v++) {
        const pl_value *was = g->values.at[v];
        pl_value *y = x->value[v];
        if (!y) continue;
        y->of = was->of ? x->value[was->of->id] : NULL;
        y->next = was->next && x->keeps[v] ? x->value[was->next->id] : NULL;
    }
    for (int i = 0; i < g->outputs.n; i++)
        if (x->keeps[g->outputs.at[i]->id])
            PL_PUSH(x->graph->arena, &x->graph->outputs, x->value[g->outputs.at[i]->id]);
}

void pl_graph_excerpt(const pl_graph *whole, const bool keeps[], pl_arena *out, pl_excerpt *e)
{
    pl_arena *tmp = pl_arena_new("excerpt");
    int *node = PL_NEW_N(out, int, whole->nodes.n + 1),
        *value = PL_NEW_N(out, int, whole->values.n + 1);
    cutting x = { .whole = whole, .keeps = keeps, .graph = PL_NEW(out, pl_graph) };
    *x.graph =
        (pl_graph){ .arena = out, .ops = whole->ops, .name = whole->name, .micro = whole->micro };
    x.needed = PL_NEW_N(tmp, bool, whole->nodes.n + 1);
    x.there = PL_NEW_N(tmp, bool, whole->values.n + 1);
    x.value = PL_NEW_N(tmp, pl_value *, whole->values.n + 1);
    x.node = PL_NEW_N(tmp, pl_node *, whole->nodes.n + 1);
    find_needed(&x);
    copy_values(&x, value);
    copy_nodes(&x, node);
    link_values(&x);
    *e = (pl_excerpt){ whole, x.graph, node, value };
    pl_arena_free(tmp);
}
