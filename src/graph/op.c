#include "graph/op.h"

#include <math.h>
#include <string.h>

static bool is_summed(const pl_node *n, int f)
{
    for (int i = 0; i < n->n_out; i++)
        if (pl_share_touches(n, n->n_in + i, f)) return false;
    return true;
}

bool pl_op_changes_state(const pl_op *op)
{
    return op->inplace && strspn(op->inplace, "-") < strlen(op->inplace);
}

double pl_op_flops(const pl_share *s)
{
    const pl_node *n = s->node;
    bool summed = false;
    const pl_op *op = n->op;
    if (op->flops) return op->flops(s);
    if (op->flops_per_in > 0) return op->flops_per_in * (double)pl_shape_count(&s->in[0]);
    if (op->flops_per_out > 0) return op->flops_per_out * (double)pl_shape_count(&s->out[0]);
    double all = 2, written = 0;
    for (int f = 0; f < n->sig->n_factors; f++) {
        summed |= is_summed(n, f);
        all *= (double)s->factor[f].n;
    }
    for (int i = 0; i < n->n_out; i++) written += (double)pl_shape_count(&s->out[i]);
    return summed ? all : written;
}

double pl_op_work(const pl_share *s)
{
    const pl_op *op = s->node->op;
    return fmax(pl_op_flops(s), op->each * (double)pl_shape_count(&s->out[0]));
}

bool pl_op_multiplies(const pl_node *n)
{
    bool summed = false;
    for (int f = 0; f < n->sig->n_factors; f++) summed |= is_summed(n, f);
    return summed && n->n_in > 1 && n->op->linear && !strncmp(n->op->linear, "0|1", 3);
}

double pl_graph_flops(const pl_graph *g)
{
    double flops = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        pl_share whole = pl_share_whole(g->nodes.at[i]);
        flops += pl_op_flops(&whole);
    }
    return flops;
}
