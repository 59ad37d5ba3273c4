/* moe_combine: y[g, t, h] = sum over k of w[g, t, k] x[g, e, slot, h], where e = ids[g, t, k] and
 * slot are those that moe_dispatch gave the choice (ops/lib/route.h); a dropped choice adds
 * nothing. Summed in double, and once rounded.
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
    return 2.0 * (double)(pl_shape_count(pl_share_out(s, 0)) * k) * (double)e / (double)whole;
}

enum { MOST = 64 }; /* choices of a token */

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const int64_t k = sig->factor[pl_sig_find(sig, 'k')].size;
    (void)n;
    return k <= MOST || pl_err_set(err, PL_EUNSUPPORTED, "k=%lld choices of a token, at most %d",
                                   (long long)k, MOST);
}

/* One token: its choices' rows, weighed and summed. */
static void combine(const pl_route *r, int64_t t, const void *const in[], void *out)
{
    const pl_share *s = r->group.share;
    const pl_node *n = s->node;
    const pl_type type = n->out[0]->type;
    const int ft = pl_sig_find(n->sig, 't'), fk = pl_sig_find(n->sig, 'k'),
              fe = pl_sig_find(n->sig, 'e'), fc = pl_sig_find(n->sig, 'c');
    const pl_walk *g = &r->group;
    int64_t row[MOST], count = 0;
    double weight[MOST];
    for (int64_t k = 0; k < s->factor[fk].n; k++) {
        int64_t e, slot = pl_route_slot(r, t, k, &e);
        if (slot < 0) continue;
        row[count] = g->at[0] + e * g->stride[0][fe] + slot * g->stride[0][fc];
        weight[count++] =
            pl_type_get(type, in[2], g->at[2] + t * g->stride[2][ft] + k * g->stride[2][fk]);
    }
    pl_walk h = pl_walk_new(s, pl_walk_mask(n, 3) & ~pl_walk_mask(n, 1));
    do {
        double sum = 0;
        for (int64_t i = 0; i < count; i++)
            sum += weight[i] * pl_type_get(type, in[0], row[i] + h.at[0]);
        pl_type_put(type, out, g->at[3] + t * g->stride[3][ft] + h.at[3], sum);
    } while (pl_walk_next(&h));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_route r = pl_route_new(s, 1, in[1]);
    do
        for (int64_t t = 0; t < s->factor[r.factor[0]].n; t++) combine(&r, t, in, out[0]);
    while (pl_walk_next(&r.group));
}

const pl_op pl_op_moe_combine = {
    .name = "moe_combine",
    .sig = "gech,gtk,gtk->gth",
    .whole = "tkc",
    .lookup = "e",
    .linear = "0|2",
    .types = "f,i,f->f",
    .infer = infer,
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL,
          .in = { { 4, { 2, 4, 2, 6 } }, { 3, { 2, 6, 2 }, "i32", 0, 4 }, { 3, { 2, 6, 2 } } } },
        { "egch,gtk,gtk->(gt)h",
          .in = { { 4, { 3, 2, 8, 2 } }, { 3, { 2, 4, 2 }, "i64", -1, 4 }, { 3, { 2, 4, 2 } } } }),
};
