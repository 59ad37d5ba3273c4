#include "graph/op.h"

static bool is_summed(const pl_node *n, int f)
{
    for (int i = 0; i < n->n_out; i++)
        if (pl_share_touches(n, n->n_in + i, f)) return false;
    return true;
}

double pl_op_flops(const pl_share *s)
{
    const pl_node *n = s->node;
    bool summed = false;
    double all = 2, written = 0;
    for (int f = 0; f < n->sig->n_factors; f++) {
        summed |= is_summed(n, f);
        all *= (double)s->factor[f].n;
    }
    for (int i = 0; i < n->n_out; i++) written += (double)pl_shape_count(&s->out[i]);
    return summed ? all : written;
}
