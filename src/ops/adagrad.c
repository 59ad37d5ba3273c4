/* adagrad: one step of Adagrad, in place on the weights w and their sums of squared gradients s,
 * from gradient g, learning rate and the gradient's scale. Formulas: ops/lib/adagrad.h. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adagrad.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_adagrad a = pl_adagrad_new(n, pl_type_get(n->in[3]->type, in[3], 0),
                                        pl_type_get(n->in[4]->type, in[4], 0));
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, 0));
    do {
        const double g = pl_type_get(n->in[1]->type, in[1], i.at[1]);
        pl_adagrad_element(&a, g, n->out[0]->type, out, i.at[5]);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_adagrad = {
    .name = "adagrad",
    .sig = "...,...,...,,->...,...",
    .inplace = "02",
    .types = "F,f,F,F,F->F,F",
    .attrs = PL_ADAGRAD_ATTRS,
    .infer = pl_adagrad_infer,
    .flops_per_out = 8,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 6 } },
                                            { 2, { 4, 6 } },
                                            { 2, { 4, 6 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } },
                            { "; eps=1e-3 decay=0.1", .in = { { 1, { 6 } },
                                                              { 1, { 6 }, "bf16" },
                                                              { 1, { 6 }, .lo = 0, .hi = 1 },
                                                              { 0, { 0 } },
                                                              { 0, { 0 } } } }),
};
