/* moe_combine: y[g, t, h] = sum over k of w[g, t, k] x[g, e, slot, h], where e = ids[g, t, k] and
 * slot are those that moe_dispatch gave the choice (ops/lib/route.h); a dropped choice adds
 * nothing. Summed in the type of x.
 *
 * Groups g and features h split freely; e is a lookup letter: a share sums what its experts made, a
 * partial result; t, k and c are whole. */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/lib/route.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *const in[] = { n->in[0], n->in[1], n->in[2], dy[0] };
    const char *spec = pl_spec(b, n, "{0},{1},{2},{3}->{0},{2}");
    const pl_node *g = pl_add_node(b, &pl_op_moe_combine_grad, NULL, spec, 4, in);
    if (!g) return;
    dx[0] = g->out[0];
    dx[2] = g->out[1];
}

static double flops(const pl_share *s) /* every choice of the experts at hand */
{
    int64_t whole, k = pl_share_range(s, 'k', &whole).n, e = pl_share_range(s, 'e', &whole).n;
    return 2.0 * (double)(pl_shape_count(&s->out[0]) * k) * (double)e / (double)whole;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    pl_route r = pl_route_new(s, 1, in[1]);
    pl_walk h = pl_walk_new(s, pl_walk_mask(n, 3) & ~pl_walk_mask(n, 1));
    pl_move_zero(t, out[0], pl_shape_count(&s->out[0]));
    while (pl_route_next(&r)) {
        double weight = pl_type_get(t, in[2], r.at[2]);
        do {
            int64_t to = r.at[3] + h.at[3];
            double x = pl_type_get(t, in[0], r.at[0] + h.at[0]);
            pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + weight * x);
        } while (pl_walk_next(&h));
    }
}

const pl_op pl_op_moe_combine = {
    .name = "moe_combine",
    .sig = "gech,gtk,gtk->gth",
    .whole = "tkc",
    .lookup = "e",
    .linear = "0|2",
    .types = "f,i,f->f",
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL,
          .in = { { 4, { 2, 4, 2, 6 } }, { 3, { 2, 6, 2 }, "i32", 0, 4 }, { 3, { 2, 6, 2 } } } },
        { "egch,gtk,gtk->(gt)h",
          .in = { { 4, { 3, 2, 8, 2 } }, { 3, { 2, 4, 2 }, "i64", -1, 4 }, { 3, { 2, 4, 2 } } } }),
};
