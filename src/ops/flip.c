/* flip: the elements along letter v from the last to the first. v is whole. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_flip, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    int v = pl_sig_find(n->sig, 'v');
    int64_t last = s->factor[v].n - 1;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do
        pl_move_element(n->out[0]->type, out[0], w.at[1], in[0],
                        w.at[0] + (last - 2 * w.index[v]) * w.stride[0][v]);
    while (pl_walk_next(&w));
}

const pl_op pl_op_flip = {
    .name = "flip",
    .sig = "...v->...v",
    .whole = "v",
    .types = "t",
    .linear = "0",
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } } },
                            { "avb->avb", .in = { { 3, { 2, 5, 4 } } } },
                            { "vn->vn", .in = { { 2, { 3, 4 }, "i64" } } }),
};
