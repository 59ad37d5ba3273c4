/* rowwise_adagrad_rows: rowwise_adagrad for the rows of a table alone that the ids name, each once:
 * what that leaves. Operands: ops/lib/rows.h, then one sum a row, s [v, 1], and the scalars lr and
 * scale. */
#include "ops/lib/adagrad.h"
#include "ops/lib/lookup.h"
#include "ops/lib/rows.h"
#include "ops/list.h"

enum { W, IDS, ROWS, SUM, LR, SCALE };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const double eps = pl_node_real(n, "eps", 0),
                 lr = pl_rows_scalar(s, in, LR) * pl_rows_scalar(s, in, SCALE);
    for (pl_rows r = pl_rows_new(s, in); pl_rows_next(&r);) {
        const int64_t at = r.walk.at[SUM] + pl_lookup_row(&r.walk, in, IDS, SUM);
        const double w = pl_type_get(n->out[0]->type, out[0], r.to),
                     sum = pl_type_get(n->in[SUM]->type, in[SUM], at);
        pl_type_put(n->out[0]->type, out[0], r.to,
                    w - pl_rowwise_rate(lr, sum, eps) * pl_rows_gradient(&r));
    }
}

const pl_op pl_op_rowwise_adagrad_rows = {
    .name = "rowwise_adagrad_rows",
    .sig = "...vh,...n,...nh,...vu,,->...vh",
    .whole = "n",
    .lookup = "v",
    .rows = "1>03",
    .inplace = "0",
    .types = "F,i,f,F,F,F->F",
    .attrs = "eps=1e-10",
    .infer = pl_rowwise_infer,
    .flops = pl_rows_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 8, 4 } },
                                            { 1, { 5 }, "i32", -1, 8 },
                                            { 2, { 5, 4 } },
                                            { 2, { 8, 1 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } },
                            { "; eps=1e-3", .in = { { 2, { 6, 2 } },
                                                    { 1, { 3 }, "i64", 0, 6 },
                                                    { 2, { 3, 2 }, "bf16" },
                                                    { 2, { 6, 1 }, .lo = 0, .hi = 1 },
                                                    { 0, { 0 } },
                                                    { 0, { 0 } } } },
                            { NULL, .in = { { 3, { 2, 4, 2 } },
                                            { 2, { 2, 3 }, "i32", -1, 4 },
                                            { 3, { 2, 3, 2 } },
                                            { 3, { 2, 4, 1 }, .lo = 0, .hi = 1 },
                                            { 0, { 0 } },
                                            { 0, { 0 } } } }),
};
