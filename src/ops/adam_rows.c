/* adam_rows: one step of Adam, in place on the rows of a table that the ids name, and on their
 * moments; decoupled=1: of AdamW. Other rows' moments do not decay, and they do not move by them:
 * so it is torch.optim.SparseAdam, and not what adam leaves. Operands: ops/lib/rows.h, scalars lr,
 * step and scale; formulas: ops/lib/adam.h. */
#include "ops/lib/adam.h"
#include "ops/lib/rows.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_adam a =
        pl_adam_new(n, pl_rows_scalar(s, in, 5), pl_rows_scalar(s, in, 6), pl_rows_scalar(s, in, 7),
                    pl_node_int(n, "decoupled", 0) ? PL_ADAMW : PL_ADAM);
    for (pl_rows r = pl_rows_new(s, in); pl_rows_next(&r);)
        pl_adam_element(&a, pl_rows_gradient(&r), n->out[0]->type, out, r.to);
}

const pl_op pl_op_adam_rows = {
    .name = "adam_rows",
    .sig = "...vh,...n,...nh,...vh,...vh,,,->...vh,...vh,...vh",
    .whole = "n",
    .lookup = "v",
    .rows = "1>034",
    .inplace = "034",
    .types = "F,i,f,F,F,F,t,F->F,F,F",
    .attrs = PL_ADAM_ATTRS " decoupled=0",
    .infer = pl_adam_infer,
    .flops = pl_rows_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; decoupled=1 decay=0.1", .in = { { 2, { 8, 4 } },
                                             { 1, { 5 }, "i32", -1, 8 },
                                             { 2, { 5, 4 } },
                                             { 2, { 8, 4 } },
                                             { 2, { 8, 4 }, .lo = 0.1, .hi = 1 },
                                             { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                                             { 0, { 0 }, "i64", 1, 5 },
                                             { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
        { "; beta1=0.8 beta2=0.95 decay=0", .in = { { 2, { 6, 2 } },
                                                    { 1, { 3 }, "i64", 0, 6 },
                                                    { 2, { 3, 2 }, "bf16" },
                                                    { 2, { 6, 2 } },
                                                    { 2, { 6, 2 }, .lo = 0.1, .hi = 1 },
                                                    { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                                                    { 0, { 0 }, "i64", 1, 5 },
                                                    { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
        { NULL, .in = { { 3, { 2, 4, 2 } },
                        { 2, { 2, 3 }, "i32", -1, 4 },
                        { 3, { 2, 3, 2 } },
                        { 3, { 2, 4, 2 } },
                        { 3, { 2, 4, 2 }, .lo = 0.1, .hi = 1 },
                        { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                        { 0, { 0 }, "i64", 1, 5 },
                        { 0, { 0 }, .lo = 0.5, .hi = 1 } } }),
};
