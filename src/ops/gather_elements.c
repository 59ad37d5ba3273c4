/* gather_elements: of each row the elements that are asked for: "...e,...k->...k" with
 *   y[..., k] = x[..., ids[..., k]]
 * where e and k stand in the same place of the dimensions: "enm,knm->knm" picks along the first.
 * The ids may lack letters that x and y have: "enm,k->knm" picks whole rows. e is a lookup letter:
 * a share of e gives zeros for what it has not, and shares are summed; an id outside of the whole
 * row gives 0. The gradient is topk's. */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_topk_grad, pl_spec(b, n, "{1},{2}->{0}"), n->in[1], dy[0]);
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
    .ref = pl_lookup_take,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 6 } }, { 2, { 4, 3 }, "i64", 0, 6 } } },
        { "enm,knm->knm", .in = { { 3, { 3, 2, 4 } }, { 3, { 5, 2, 4 }, "i32", -1, 4 } } },
        { "enm,kn->knm", .in = { { 3, { 3, 2, 4 } }, { 2, { 5, 2 }, "i64", 0, 3 } } },
        { NULL, .in = { { 2, { 4, 6 }, "i64" }, { 2, { 4, 3 }, "i64", 0, 6 } } }),
};
