/* adagrad_rows: one step of Adagrad, in place on the rows of a table that the ids name, and on
 * their sums of squared gradients. Without decay it leaves what adagrad leaves. Operands:
 * ops/lib/rows.h, scalars lr and scale; formulas: ops/lib/adagrad.h. */
#include "ops/lib/adagrad.h"
#include "ops/lib/rows.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_adagrad a = pl_adagrad_new(n, pl_rows_scalar(s, in, 4), pl_rows_scalar(s, in, 5));
    for (pl_rows r = pl_rows_new(s, in); pl_rows_next(&r);)
        pl_adagrad_element(&a, pl_rows_gradient(&r), n->out[0]->type, out, r.to);
}

const pl_op pl_op_adagrad_rows = {
    .name = "adagrad_rows",
    .sig = "...vh,...n,...nh,...vh,,->...vh,...vh",
    .whole = "n",
    .lookup = "v",
    .rows = "1>03",
    .inplace = "03",
    .types = "F,i,f,F,F,F->F,F",
    .attrs = PL_ADAGRAD_ATTRS,
    .infer = pl_adagrad_infer,
    .flops = pl_rows_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 8, 4 } },
                                            { 1, { 5 }, "i32", -1, 8 },
                                            { 2, { 5, 4 } },
                                            { 2, { 8, 4 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } },
                            { "; eps=1e-3 decay=0.1", .in = { { 2, { 6, 2 } },
                                                              { 1, { 3 }, "i64", 0, 6 },
                                                              { 2, { 3, 2 }, "bf16" },
                                                              { 2, { 6, 2 }, .lo = 0, .hi = 1 },
                                                              { 0, { 0 } },
                                                              { 0, { 0 } } } },
                            { NULL, .in = { { 3, { 2, 4, 2 } },
                                            { 2, { 2, 3 }, "i32", -1, 4 },
                                            { 3, { 2, 3, 2 } },
                                            { 3, { 2, 4, 2 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } }),
};
