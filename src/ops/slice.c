/* slice: the range [at, at + u) of letter v: "...v->...u; at=2 u=3", also within a composite
 * dimension: "bs(vhd)->bs(uhd); v=3 u=1 at=1". v and u are whole, all other letters pass. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; at=%lld", (long long)pl_node_int(n, "at", 0));
    dx[0] = PL_ADD(b, &pl_op_slice_grad, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    int v = pl_sig_find(n->sig, 'v'), u = pl_sig_find(n->sig, 'u');
    int64_t at = pl_node_int(n, "at", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do
        pl_move_element(n->out[0]->type, out[0], w.at[1], in[0],
                        w.at[0] + (at + w.index[u]) * w.stride[0][v]);
    while (pl_walk_next(&w));
}

const pl_op pl_op_slice = {
    .name = "slice",
    .sig = "...v->...u",
    .whole = "vu",
    .types = "t",
    .linear = "0",
    .attrs = "at=0",
    .infer = pl_move_infer_range,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; at=2 u=3", .in = { { 2, { 4, 8 } } } },
                            { "bs(vhd)->bs(uhd); v=3 u=1 at=1 h=2", .in = { { 3, { 2, 3, 12 } } } },
                            { "vn->un; u=2", .in = { { 2, { 5, 4 }, "i64" } } }),
};
