/* rowwise_adagrad: one step of row-wise Adagrad, in place on the rows w of a table, from gradient
 * g, one sum a row, s, as rowwise_sum leaves it, learning rate and the gradient's scale:
 *   w = w - lr scale g / (sqrt(s) + eps)
 * A row whose sum is 0 has had no gradient, and stays. Source: ops/lib/adagrad.h. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adagrad.h"
#include "ops/list.h"

enum { W, G, SUM, LR, SCALE };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const double eps = pl_node_real(n, "eps", 0),
                 lr = pl_type_get(n->in[LR]->type, in[LR], 0) *
                      pl_type_get(n->in[SCALE]->type, in[SCALE], 0);
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, W));
    do {
        const double w = pl_type_get(n->out[0]->type, out[0], i.at[W]),
                     g = pl_type_get(n->in[G]->type, in[G], i.at[G]),
                     sum = pl_type_get(n->in[SUM]->type, in[SUM], i.at[SUM]);
        pl_type_put(n->out[0]->type, out[0], i.at[W], w - pl_rowwise_rate(lr, sum, eps) * g);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_rowwise_adagrad = {
    .name = "rowwise_adagrad",
    .sig = "...vh,...vh,...vu,,->...vh",
    .inplace = "0",
    .types = "F,f,F,F,F->F",
    .attrs = "eps=1e-10",
    .infer = pl_rowwise_infer,
    .flops_per_out = 2,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 6 } },
                                            { 2, { 4, 6 } },
                                            { 2, { 4, 1 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } },
                            { "; eps=1e-3", .in = { { 2, { 6, 2 } },
                                                    { 2, { 6, 2 }, "bf16" },
                                                    { 2, { 6, 1 }, .lo = 0, .hi = 1 },
                                                    { 0, { 0 } },
                                                    { 0, { 0 } } } },
                            { NULL, .in = { { 3, { 2, 4, 2 } },
                                            { 3, { 2, 4, 2 } },
                                            { 3, { 2, 4, 1 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } }),
};
