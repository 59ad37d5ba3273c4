/* topk_grad: put dy back where topk, or gather_elements, found its values: dx[..., e] = sum of
 * dy[..., k] over indices[..., k] = e, summed in the type of dy. e is a lookup letter: a share of e
 * looks for its own positions; a share of k leaves a partial sum. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[1] = PL_ADD(b, &pl_op_gather_elements, pl_spec(b, n, "{2},{0}->{1}"), dy[0], n->in[0]);
}

static double flops(const pl_share *s)
{
    return (double)pl_shape_count(&s->in[1]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int e = pl_sig_find(n->sig, 'e');
    pl_range row = s->factor[e];
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    pl_move_zero(t, out[0], pl_shape_count(&s->out[0]));
    do {
        double at = pl_type_get(n->in[0]->type, in[0], w.at[0]) - (double)row.lo;
        if (!(at >= 0 && at < (double)row.n)) continue;
        int64_t to = w.at[2] + (int64_t)at * w.stride[2][e];
        pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + pl_type_get(t, in[1], w.at[1]));
    } while (pl_walk_next(&w));
}

const pl_op pl_op_topk_grad = {
    .name = "topk_grad",
    .sig = "...k,...k->...e",
    .form = "k:01 e:2 012 12",
    .lookup = "e",
    .linear = "1",
    .types = "i,f->f",
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; e=6", .in = { { 2, { 4, 2 }, "i32", 0, 6 }, { 2, { 4, 2 } } } },
                    { "k,knm->enm; e=3", .in = { { 1, { 5 }, "i64", -1, 4 }, { 3, { 5, 2, 4 } } } },
                    { "nk,nk->en; e=3", .in = { { 2, { 4, 3 }, "i64", 0, 3 }, { 2, { 4, 3 } } } }),
};
