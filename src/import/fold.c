/* Nodes whose inputs are all known: mapped into a graph of their own, computed by the reference
 * kernels. So what a node means stands in one place. */
#include "import/import.h"

#include "graph/op.h"

#include <string.h>

/* Elements of any value on the way, and flops: what takes more is computed in each step. */
enum { MOST = 1 << 16, MOST_FLOPS = 1 << 26 };

/* All inputs as inputs of the scratch graph, which has no values without elements. */
static void enter(pl_import *m, pl_builder *b, pl_item copy[])
{
    for (int k = 0; k < m->n_in; k++) {
        if (!m->in[k]) continue;
        const pl_tensor *t = m->in[k]->constant;
        if (!pl_shape_count(&t->shape)) continue; /* no value of a graph is empty */
        copy[k] = *m->in[k];
        if (pl_shape_count(&t->shape))
            copy[k].value = pl_add_input(b, pl_arena_fmt(m->a, "in.%d", k), t->type, t->shape);
        m->in[k] = &copy[k];
    }
}

static void *array_of(const pl_value *v, pl_arena *a)
{
    return pl_arena_get(a, (size_t)pl_shape_count(&v->shape) + 1, (size_t)pl_type_bytes(v->type));
}

static void run_node(const pl_node *n, void **at, pl_arena *a)
{
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
    const pl_share whole = pl_share_whole(n);
    for (int k = 0; k < n->n_in; k++) in[k] = at[n->in[k]->id];
    for (int k = 0; k < n->n_out; k++) out[k] = at[n->out[k]->id] = array_of(n->out[k], a);
    n->op->ref(&whole, in, out);
}

/* Everything that the scratch graph computes: few nodes, none in vain. */
static void run_graph(const pl_graph *g, void **at, pl_arena *a)
{
    for (int i = 0; i < g->nodes.n; i++) run_node(g->nodes.at[i], at, a);
}

static void fill_inputs(const pl_import *m, void **at)
{
    for (int k = 0; k < m->n_in; k++) {
        if (!m->in[k] || !m->in[k]->value) continue;
        const pl_tensor *t = m->in[k]->constant;
        void *to = array_of(m->in[k]->value, m->a);
        pl_tensor_convert(t, t->data, pl_shape_count(&t->shape), to);
        at[m->in[k]->value->id] = to;
    }
}

static bool is_small(const pl_graph *g)
{
    for (int i = 0; i < g->values.n; i++)
        if (pl_shape_count(&g->values.at[i]->shape) > MOST) return false;
    return pl_graph_flops(g) <= MOST_FLOPS;
}

static void take_outputs(pl_import *m, void *const *at)
{
    for (int k = 0; k < (int)m->node->n_output; k++) {
        const pl_value *v = m->out[k].value;
        m->out[k].value = NULL;
        if (v) pl_out_constant(m, k, v->type, &v->shape, at[v->id]);
    }
}

static bool all_known(const pl_import *m)
{
    for (int k = 0; k < m->n_in; k++)
        if (m->in[k] && !pl_item_known(m->in[k])) return false;
    return true;
}

bool pl_fold_node(pl_import *m, bool (*map)(pl_import *m))
{
    if (!all_known(m)) return false;
    pl_builder *outer = m->b;
    pl_builder b = pl_builder_new(m->a, outer->graph->ops, "a constant");
    pl_item **in = PL_NEW_N(m->a, pl_item *, m->n_in + 1),
            *copy = PL_NEW_N(m->a, pl_item, m->n_in + 1);
    memcpy(in, m->in, (size_t)m->n_in * sizeof *in);
    m->b = &b;
    m->trial = true;
    enter(m, &b, copy);
    bool ok = map(m) && !b.err.code && is_small(b.graph);
    if (ok) {
        void **at = PL_NEW_N(m->a, void *, b.graph->values.n + 1);
        fill_inputs(m, at);
        for (int i = 0; i < b.graph->values.n; i++) ok &= b.graph->values.at[i]->role != PL_STATE;
        if (ok) run_graph(b.graph, at, m->a);
        if (ok) take_outputs(m, at);
    }
    if (!ok)
        for (size_t k = 0; k < m->node->n_output; k++)
            m->out[k].value = NULL, m->out[k].constant = NULL;
    m->b = outer;
    m->trial = m->told = false;
    memcpy(m->in, in, (size_t)m->n_in * sizeof *in);
    return ok;
}
