/* Weights in 16 bits, and their masters (Micikevicius et al., ICLR 2018). */
#include "graph/graph.h"

/* The cast that mixed precision makes of v; NULL: none. */
static pl_value *narrow_of(const pl_builder *b, const pl_value *v)
{
    return v->id < b->narrow.n ? b->narrow.at[v->id] : NULL;
}

void pl_add_narrow_weights(pl_builder *b)
{
    const pl_graph *graph = b->graph;
    for (int i = 0; i < graph->nodes.n; i++) /* who reads a weight itself needs it as it is */
        for (int k = 0; k < graph->nodes.at[i]->n_in; k++) {
            const pl_value *v = graph->nodes.at[i]->in[k], *cast = narrow_of(b, v);
            if (cast && cast->maker != graph->nodes.at[i]) b->narrow.at[v->id] = NULL;
        }
    for (int i = 0; i < graph->nodes.n; i++)
        for (int k = 0; k < graph->nodes.at[i]->n_in; k++) {
            pl_value **in = &graph->nodes.at[i]->in[k],
                     *v = (*in)->maker ? (*in)->maker->in[0] : NULL;
            if (v && v->kind == PL_WEIGHT && narrow_of(b, v) == *in) *in = v;
        }
    for (int i = 0; i < b->narrow.n; i++) /* the casts are pruned */
        if (b->narrow.at[i] && graph->values.at[i]->kind == PL_WEIGHT)
            graph->values.at[i]->type = b->narrow.at[i]->type;
}

const pl_value *pl_graph_known(const pl_value *state)
{
    return state->kind == PL_MASTER ? state->of : state;
}

bool pl_graph_is_copy(const pl_value *state)
{
    return state->kind == PL_WEIGHT && state->next &&
           pl_type_bytes(state->type) < pl_type_bytes(PL_F32);
}

bool pl_graph_has_masters(const pl_graph *graph)
{
    for (int i = 0; i < graph->values.n; i++)
        if (graph->values.at[i]->kind == PL_MASTER) return true;
    return false;
}
