/* rowwise_sum_rows: rowwise_sum for the rows of a table alone that the ids name, each once: of sums
 * s [v, 1], ids [n], squares q [n] and the scale. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adagrad.h"
#include "ops/lib/lookup.h"
#include "ops/list.h"

enum { SUM, IDS, SQUARES, SCALE };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const double by = pl_rowwise_share(n, pl_type_get(n->in[SCALE]->type, in[SCALE], 0));
    const pl_type t = n->out[0]->type;
    const uint32_t sums = pl_walk_mask(n, SUM) & ~pl_walk_letters(n, "v");
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, IDS) | sums);
    do {
        const int64_t row = pl_lookup_row(&i, in, IDS, SUM), at = i.at[SUM] + row;
        if (row < 0) continue;
        const double q = pl_type_get(n->in[SQUARES]->type, in[SQUARES], i.at[SQUARES]);
        pl_type_put(t, out[0], at, pl_type_get(t, out[0], at) + by * q);
    } while (pl_walk_next(&i));
}

static double flops(const pl_share *s)
{
    return 2 * (double)pl_shape_count(&s->shape[IDS]);
}

const pl_op pl_op_rowwise_sum_rows = {
    .name = "rowwise_sum_rows",
    .sig = "...vu,...n,...n,->...vu",
    .whole = "n",
    .lookup = "v",
    .rows = "1>0",
    .inplace = "0",
    .types = "F,i,F,F->F",
    .attrs = "columns=0",
    .infer = pl_rowwise_infer,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; columns=5", .in = { { 2, { 8, 1 } },
                                                     { 1, { 5 }, "i32", -1, 8 },
                                                     { 1, { 5 }, .lo = 0, .hi = 4 },
                                                     { 0, { 0 } } } },
                            { "; columns=2", .in = { { 2, { 6, 4 } },
                                                     { 1, { 3 }, "i64", 0, 6 },
                                                     { 1, { 3 }, .lo = 0, .hi = 4 },
                                                     { 0, { 0 } } } },
                            { "; columns=2", .in = { { 3, { 2, 4, 1 } },
                                                     { 2, { 2, 3 }, "i32", -1, 4 },
                                                     { 2, { 2, 3 }, .lo = 0, .hi = 4 },
                                                     { 0, { 0 } } } }),
};
