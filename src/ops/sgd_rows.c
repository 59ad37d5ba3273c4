/* sgd_rows: stochastic gradient descent without momentum, in place on the rows of a table that the
 * ids name: w = w - lr (scale g + decay w). Without decay it leaves what sgd leaves that has no
 * momentum. Operands: ops/lib/rows.h; scalars lr and scale. */
#include "ops/lib/rows.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const double decay = pl_node_real(n, "decay", 0);
    (void)sig;
    return decay >= 0 || pl_err_set(err, PL_EINPUT, "decay is %g: it may not be below 0", decay);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const double lr = pl_rows_scalar(s, in, 3), scale = pl_rows_scalar(s, in, 4),
                 decay = pl_node_real(s->node, "decay", 0);
    const pl_type t = s->node->out[0]->type;
    for (pl_rows r = pl_rows_new(s, in); pl_rows_next(&r);) {
        const double w = pl_type_get(t, out[0], r.to);
        pl_type_put(t, out[0], r.to, w - lr * (scale * pl_rows_gradient(&r) + decay * w));
    }
}

const pl_op pl_op_sgd_rows = {
    .name = "sgd_rows",
    .sig = "...vh,...n,...nh,,->...vh",
    .whole = "n",
    .lookup = "v",
    .rows = "1>0",
    .inplace = "0",
    .types = "F,i,f,F,F->F",
    .attrs = "decay=0",
    .infer = infer,
    .flops = pl_rows_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 8, 4 } },
                                            { 1, { 5 }, "i32", -1, 8 },
                                            { 2, { 5, 4 } },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } },
                            { "; decay=0.1", .in = { { 2, { 6, 2 } },
                                                     { 1, { 3 }, "i64", 0, 6 },
                                                     { 2, { 3, 2 }, "bf16" },
                                                     { 0, { 0 } },
                                                     { 0, { 0 } } } },
                            { NULL, .in = { { 3, { 2, 8, 4 } },
                                            { 2, { 2, 5 }, "i32", -1, 8 },
                                            { 3, { 2, 5, 4 } },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } }),
};
