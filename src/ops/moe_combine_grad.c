/* moe_combine_grad: from dy[g, t, h], the gradients of moe_combine's x and w:
 *   dx[g, e, slot, h] = w[g, t, k] dy[g, t, h]
 *   dw[g, t, k] = sum over h of x[g, e, slot, h] dy[g, t, h]
 * with e = ids[g, t, k] and slot as there; a slot without a token, and a dropped choice, get 0.
 *
 * e is a lookup letter: a share makes its experts' dx and a partial dw; so does a share of h. */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/lib/route.h"
#include "ops/list.h"

static double flops(const pl_share *s) /* every choice of the experts at hand */
{
    int64_t whole, k = pl_share_range(s, 'k', &whole).n, e = pl_share_range(s, 'e', &whole).n;
    return 3.0 * (double)(pl_shape_count(&s->shape[3]) * k) * (double)e / (double)whole;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    pl_route r = pl_route_new(s, 1, in[1]);
    pl_walk h = pl_walk_new(s, pl_walk_mask(n, 3) & ~pl_walk_mask(n, 1));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    pl_move_zero(t, out[1], pl_shape_count(pl_share_out(s, 1)));
    while (pl_route_next(&r)) {
        double weight = pl_type_get(t, in[2], r.at[2]), sum = 0;
        do {
            double dy = pl_type_get(t, in[3], r.at[3] + h.at[3]);
            sum += dy * pl_type_get(t, in[0], r.at[0] + h.at[0]);
            pl_type_put(t, out[0], r.at[4] + h.at[4], weight * dy);
        } while (pl_walk_next(&h));
        pl_type_put(t, out[1], r.at[5], sum);
    }
}

const pl_op pl_op_moe_combine_grad = {
    .name = "moe_combine_grad",
    .sig = "gech,gtk,gtk,gth->gech,gtk",
    .whole = "tkc",
    .lookup = "e",
    .linear = "3",
    .types = "f,i,f,f->f,f",
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 4, { 2, 4, 2, 6 } },
                                            { 3, { 2, 6, 2 }, "i32", -1, 5 },
                                            { 3, { 2, 6, 2 } },
                                            { 3, { 2, 6, 6 } } } }),
};
