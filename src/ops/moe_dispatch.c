/* moe_dispatch: give every expert its tokens: y[g, e, slot, h] = x[g, t, h] where a choice
 * ids[g, t, k] = e has the slot; slots without a token are zeros. Which slot, and what is dropped
 * beyond the capacity c: ops/lib/route.h. "gth,gtk->gech; e=4 c=8".
 *
 * Groups g and features h split freely; e is a lookup letter: a share makes its experts' slots
 * only; t, k and c are whole because slots are counted along them. */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/lib/route.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *ones = pl_builder_fmt(b, "->{1}; value=1 to=%s", pl_type_name(n->in[0]->type));
    pl_value *w = pl_add_value(b, &pl_op_fill, NULL, pl_spec(b, n, ones), 0, NULL);
    dx[0] = PL_ADD(b, &pl_op_moe_combine, pl_spec(b, n, "{2},{1},{1}->{0}"), dy[0], n->in[1], w);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    pl_route r = pl_route_new(s, 1, in[1]);
    pl_walk h = pl_walk_new(s, pl_walk_mask(n, 0) & ~pl_walk_mask(n, 1));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    while (pl_route_next(&r)) do
            pl_move_element(t, out[0], r.at[2] + h.at[2], in[0], r.at[0] + h.at[0]);
        while (pl_walk_next(&h));
}

const pl_op pl_op_moe_dispatch = {
    .name = "moe_dispatch",
    .sig = "gth,gtk->gech",
    .whole = "tkc",
    .lookup = "e",
    .linear = "0",
    .types = "f,i->f",
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; e=4 c=2", .in = { { 3, { 2, 6, 4 } }, { 3, { 2, 6, 2 }, "i32", 0, 4 } } },
                    { "; e=3 c=8", .in = { { 3, { 2, 4, 3 } }, { 3, { 2, 4, 1 }, "i64", -1, 4 } } },
                    { "(gt)h,gtk->egch; e=2 c=3",
                      .in = { { 2, { 10, 2 } }, { 3, { 2, 5, 2 }, "i32", 0, 2 } } }),
};
