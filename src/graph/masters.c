/* Weights in 16 bits, and their masters (Micikevicius et al., ICLR 2018). */
#include "graph/graph.h"

/* The cast that mixed precision makes of v; NULL: none. */
static pl_value *narrow_of(const pl_builder *b, const pl_value *v)
{
    return v->id < b->narrow.n ? b->narrow.at[v->id] : NULL;
}

/* [values] a node reads it besides the one that casts it. */
static bool *find_read(const pl_builder *b)
{
    const pl_graph *g = b->graph;
    bool *read = PL_NEW_N(g->arena, bool, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            const pl_value *v = g->nodes.at[i]->in[k], *cast = narrow_of(b, v);
            read[v->id] |= !cast || cast->maker != g->nodes.at[i];
        }
    return read;
}

void pl_add_narrow_weights(pl_builder *b)
{
    const pl_graph *g = b->graph;
    const bool *read = find_read(b);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) {
            pl_value **in = &g->nodes.at[i]->in[k], *v = (*in)->maker ? (*in)->maker->in[0] : NULL;
            if (!v || v->kind != PL_WEIGHT || read[v->id] || narrow_of(b, v) != *in) continue;
            *in = v; /* the cast is pruned */
        }
    for (int i = 0; i < b->narrow.n; i++) {
        pl_value *v = g->values.at[i];
        if (b->narrow.at[i] && v->kind == PL_WEIGHT && !read[i]) v->type = b->narrow.at[i]->type;
    }
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
