/* slice_grad: the reverse of slice: the input at [at, at + u) of letter v, zeros elsewhere:
 * "...u->...v; at=2 v=8". It pads with zeros, too. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; at=%lld", (long long)pl_node_int(n, "at", 0));
    dx[0] = PL_ADD(b, &pl_op_slice, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int v = pl_sig_find(n->sig, 'v'), u = pl_sig_find(n->sig, 'u');
    int64_t at = pl_node_int(n, "at", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    do pl_move_element(t, out[0], w.at[1] + (at + w.index[u]) * w.stride[1][v], in[0], w.at[0]);
    while (pl_walk_next(&w));
}

const pl_op pl_op_slice_grad = {
    .name = "slice_grad",
    .sig = "...u->...v",
    .whole = "vu",
    .types = "t",
    .linear = "0",
    .attrs = "at=0",
    .infer = pl_move_infer_range,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; at=2 v=8", .in = { { 2, { 4, 3 } } } },
                            { "bs(uhd)->bs(vhd); v=3 u=1 at=1 h=2", .in = { { 3, { 2, 3, 4 } } } }),
};
