/* transpose: the same elements in another order of the factors, within composite dimensions too:
 * "mn->nm", "bs(hd)->(bh)sd; h=2". */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_transpose, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 1));
    do pl_move_element(s->node->out[0]->type, out[0], w.at[1], in[0], w.at[0]);
    while (pl_walk_next(&w));
}

const pl_op pl_op_transpose = {
    .name = "transpose",
    .form = "1>1 01",
    .types = "t",
    .linear = "0",
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "mn->nm", .in = { { 2, { 4, 6 } } } },
                            { "bs(hd)->bhsd; h=2", .in = { { 3, { 2, 3, 8 } } } },
                            { "bs(hd)->(bh)sd; h=2", .in = { { 3, { 2, 3, 8 } } } },
                            { "(ab)...->(ba)...; a=2", .in = { { 3, { 6, 2, 3 }, "i64" } } }),
};
