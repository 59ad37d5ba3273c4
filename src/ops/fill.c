/* fill: a constant in every element. No inputs: "->bn; b=4 n=8 value=1". */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double value = pl_node_real(n, "value", 0);
    (void)in;
    for (int64_t i = 0, count = pl_shape_count(pl_share_out(s, 0)); i < count; i++)
        pl_type_put(n->out[0]->type, out[0], i, value);
}

const pl_op pl_op_fill = {
    .name = "fill",
    .form = "0>1 0",
    .types = "a",
    .attrs = "value=0 to=f32",
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "->bn; b=4 n=8 value=1.5", .in = { { 0 } } },
                            { "->; value=3 to=i64", .in = { { 0 } } }),
};
