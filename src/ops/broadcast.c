/* broadcast: repeat the input along the letters that only the output has; their sizes are
 * attributes ("n->bn; b=4"). */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do pl_type_put(n->out[0]->type, out[0], w.at[1], pl_type_get(n->in[0]->type, in[0], w.at[0]));
    while (pl_walk_next(&w));
}

const pl_op pl_op_broadcast = {
    .name = "broadcast",
    .form = "1>1 01 1",
    .types = "t",
    .linear = "0",
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "n->bn; b=4", .in = { { 1, { 8 } } } },
                            { "->bn; b=2 n=4", .in = { { 0, { 0 }, "f32" } } },
                            { "...->...v; v=2", .in = { { 2, { 2, 4 }, "i32" } } }),
};
