#include "ops/lib/element.h"

double pl_element_get(const pl_walk *w, const void *const in[], int i)
{
    return pl_type_get(w->share->node->in[i]->type, in[i], w->at[i]);
}

void pl_element_put(const pl_walk *w, void *const out[], int i, double value)
{
    const pl_node *n = w->share->node;
    pl_type_put(n->out[i]->type, out[i], w->at[n->n_in + i], value);
}
