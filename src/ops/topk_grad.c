/* topk_grad: put dy back where topk, or gather_elements, found its values: dx[..., e] = sum of
 * dy[..., k] over indices[..., k] = e, summed in the type of dy. e is a lookup letter: a share of e
 * looks for its own positions; a share of k leaves a partial sum. */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[1] = PL_ADD(b, &pl_op_gather_elements, pl_spec(b, n, "{2},{0}->{1}"), dy[0], n->in[0]);
}

const pl_op pl_op_topk_grad = {
    .name = "topk_grad",
    .sig = "...k,...k->...e",
    .form = "k:01 e:2 012 12",
    .lookup = "e",
    .linear = "1",
    .types = "i,f->f",
    .grad = grad,
    .flops = pl_lookup_add_flops,
    .ref = pl_lookup_add,
    .examples =
        PL_EXAMPLES({ "; e=6", .in = { { 2, { 4, 2 }, "i32", 0, 6 }, { 2, { 4, 2 } } } },
                    { "k,knm->enm; e=3", .in = { { 1, { 5 }, "i64", -1, 4 }, { 3, { 5, 2, 4 } } } },
                    { "nk,nk->en; e=3", .in = { { 2, { 4, 3 }, "i64", 0, 3 }, { 2, { 4, 3 } } } }),
};
