/* What follows from an operator's row and its signature: flops, work, whether it multiplies. */
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

double pl_op_flops(const pl_share *share)
{
    const pl_node *n = share->node;
    bool summed = false;
    const pl_op *op = n->op;
    if (op->flops) return op->flops(share);
    if (op->flops_per_in > 0) return op->flops_per_in * (double)pl_shape_count(&share->shape[0]);
    if (op->flops_per_out > 0)
        return op->flops_per_out * (double)pl_shape_count(pl_share_out(share, 0));
    double all = 2, written = 0;
    for (int f = 0; f < n->sig->n_factors; f++) {
        summed |= is_summed(n, f);
        all *= (double)share->factor[f].n;
    }
    for (int i = 0; i < n->n_out; i++) written += (double)pl_shape_count(pl_share_out(share, i));
    return summed ? all : written;
}

double pl_op_work(const pl_share *share)
{
    const pl_op *op = share->node->op;
    const double flops = op->most_flops ? op->most_flops(share) : pl_op_flops(share);
    return fmax(flops, op->work_per_out * (double)pl_shape_count(pl_share_out(share, 0)));
}

bool pl_op_multiplies(const pl_node *node)
{
    bool summed = false;
    if (node->op->multiplies) return true;
    for (int f = 0; f < node->sig->n_factors; f++) summed |= is_summed(node, f);
    return summed && node->n_in > 1 && node->op->linear && !strncmp(node->op->linear, "0|1", 3);
}

double pl_graph_flops(const pl_graph *graph)
{
    double flops = 0;
    for (int i = 0; i < graph->nodes.n; i++) {
        pl_share whole = pl_share_whole(graph->nodes.at[i]);
        flops += (double)pl_graph_runs(graph, graph->nodes.at[i]) * pl_op_flops(&whole);
    }
    return flops;
}
