/* moe_matmul_grad: the gradient of moe_matmul's w: dw[e, h, m] = sum over ids[g, t, k] = e of
 * x[g, t, h] dy[g, t, k, m], summed in the type of dy. "gth,gtk,gtkm->ehm; e=4".
 *
 * e is a lookup letter: a share of it makes its experts' matrices; a share of g, t or k leaves a
 * partial sum. */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/lib/move.h"
#include "ops/lib/route.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type t = n->out[0]->type;
    const uint32_t all = (1u << n->sig->n_factors) - 1;
    pl_walk w = pl_walk_new(s, all & ~pl_walk_letters(n, "e"));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        int64_t row = pl_lookup_row(&w, in, 1, 3), to = w.at[3] + row;
        if (row < 0) continue;
        double more = pl_type_get(t, in[0], w.at[0]) * pl_type_get(t, in[2], w.at[2]);
        pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + more);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_moe_matmul_grad = {
    .name = "moe_matmul_grad",
    .sig = "gth,gtk,gtkm->ehm",
    .form = "e:3 012 12 01 03 23",
    .lookup = "e",
    .linear = "0|2",
    .types = "f,i,f->f",
    .flops = pl_route_flops,
    .multiplies = true,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; e=4",
          .in = { { 3, { 2, 3, 4 } }, { 3, { 2, 3, 2 }, "i32", 0, 4 }, { 4, { 2, 3, 2, 2 } } } },
        { "gtkm,gtk,gth->ehm; e=3",
          .in = { { 4, { 2, 2, 2, 4 } }, { 3, { 2, 2, 2 }, "i64", -1, 4 }, { 3, { 2, 2, 2 } } } }),
};
