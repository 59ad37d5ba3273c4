/* lamb: one step of LAMB, in place on the weights w, in the direction u (lamb_direction), from the
 * sums of the squares of all of w and of all of u, and the learning rate:
 *   w = w - lr trust u,  trust = |w| / |u|, or 1 where either is 0
 * Source: You et al., Large batch optimization for deep learning, ICLR 2020, algorithm 2, phi(x) =
 * x; where a norm is 0 as in torch_optimizer's Lamb and NVIDIA's FusedLAMB. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

enum { W, U, SQUARES_W, SQUARES_U, LR };

static double scalar(const pl_share *s, const void *const in[], int k)
{
    return pl_type_get(s->node->in[k]->type, in[k], 0);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const double rate =
        scalar(s, in, LR) * pl_lamb_trust(scalar(s, in, SQUARES_W), scalar(s, in, SQUARES_U));
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, W));
    do {
        const double w = pl_type_get(n->in[W]->type, in[W], i.at[W]),
                     u = pl_type_get(n->in[U]->type, in[U], i.at[U]);
        pl_type_put(n->out[0]->type, out[0], i.at[n->n_in], w - rate * u);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_lamb = {
    .name = "lamb",
    .sig = "...,...,,,->...",
    .inplace = "0",
    .types = "F,F,F,F,F->F",
    .flops_per_out = 2,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 6 } },
                                            { 2, { 4, 6 } },
                                            { 0, { 0 }, "f32", 1, 9 },
                                            { 0, { 0 }, "f32", 1, 9 },
                                            { 0, { 0 }, "f32", 0.01, 0.1 } } },
                            { NULL, .in = { { 1, { 6 } },
                                            { 1, { 6 } },
                                            { 0, { 0 }, "f32", 0, 1e-300 },
                                            { 0, { 0 }, "f32", 1, 9 },
                                            { 0, { 0 }, "f32", 0.01, 0.1 } } }),
};
