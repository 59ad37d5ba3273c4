/* rowwise_sum: a step of the sums of row-wise Adagrad, one a row of a table, in place, from the
 * sums q of the squares of the gradient's rows (square_sum) and the gradient's scale:
 *   s = s + scale^2 q / columns
 * What follows is rowwise_adagrad. Source: ops/lib/adagrad.h. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/adagrad.h"
#include "ops/list.h"

enum { SUM, SQUARES, SCALE };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const double by = pl_rowwise_share(n, pl_type_get(n->in[SCALE]->type, in[SCALE], 0));
    const pl_type t = n->out[0]->type;
    pl_walk i = pl_walk_new(s, pl_walk_mask(n, SUM));
    do {
        const double q = pl_type_get(n->in[SQUARES]->type, in[SQUARES], i.at[SQUARES]);
        pl_type_put(t, out[0], i.at[SUM], pl_type_get(t, out[0], i.at[SUM]) + by * q);
    } while (pl_walk_next(&i));
}

const pl_op pl_op_rowwise_sum = {
    .name = "rowwise_sum",
    .sig = "...u,...,->...u",
    .inplace = "0",
    .types = "F,F,F->F",
    .attrs = "columns=0",
    .infer = pl_rowwise_infer,
    .flops_per_out = 2,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; columns=5", .in = { { 2, { 4, 1 } }, { 1, { 4 }, .lo = 0, .hi = 6 }, { 0, { 0 } } } },
        { "; columns=2",
          .in = { { 3, { 2, 4, 1 } }, { 2, { 2, 4 }, .lo = 0, .hi = 6 }, { 0, { 0 } } } }),
};
