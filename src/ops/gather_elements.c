/* gather_elements: of each row the elements that are asked for: "...e,...k->...k" with
 *   y[..., k] = x[..., ids[..., k]]
 * where e and k stand in the same place of the dimensions: "enm,knm->knm" picks along the first.
 * The ids may lack letters that x and y have: "enm,k->knm" picks whole rows. e is a lookup letter:
 * a share of e gives zeros for what it has not, and shares are summed; an id outside of the whole
 * row gives 0. The gradient is topk's. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_topk_grad, pl_spec(b, n, "{1},{2}->{0}"), n->in[1], dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int e = pl_sig_find(n->sig, 'e');
    pl_range row = s->factor[e];
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 2));
    pl_move_zero(t, out[0], pl_shape_count(&s->out[0]));
    do {
        double at = pl_type_get(n->in[1]->type, in[1], w.at[1]) - (double)row.lo;
        if (at >= 0 && at < (double)row.n)
            pl_move_element(t, out[0], w.at[2], in[0], w.at[0] + (int64_t)at * w.stride[0][e]);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_gather_elements = {
    .name = "gather_elements",
    .sig = "...e,...k->...k",
    .form = "e:0 k:12 012 02",
    .lookup = "e",
    .linear = "0",
    .types = "t,i->t",
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 6 } }, { 2, { 4, 3 }, "i64", 0, 6 } } },
        { "enm,knm->knm", .in = { { 3, { 3, 2, 4 } }, { 3, { 5, 2, 4 }, "i32", -1, 4 } } },
        { "enm,kn->knm", .in = { { 3, { 3, 2, 4 } }, { 2, { 5, 2 }, "i64", 0, 3 } } },
        { NULL, .in = { { 2, { 4, 6 }, "i64" }, { 2, { 4, 3 }, "i64", 0, 6 } } }),
};
