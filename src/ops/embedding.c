/* embedding: y[..., h] = table[ids[...], h]. v, the table's rows, is a lookup letter: a share of v
 * gives zeros for ids outside of its rows, and shares are summed. An id outside of the whole table
 * gives zeros: kernels cannot fail, and data is checked before it is fed.
 *
 *   "vh,bs->bh"       bags: the vectors of the ids along s are added up
 *   "tvh,bt->bth"     many tables of as many rows, each with ids of its own
 *   "avh,bs->absh"    all of them with the same ids: a lookup along the second dimension */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_embedding_grad, pl_spec(b, n, "{1},{2}->{0}"), n->in[1], dy[0]);
}

const pl_op pl_op_embedding = {
    .name = "embedding",
    .sig = "vh,...->...h",
    .form = "v:0 02 12 1 012",
    .lookup = "v",
    .rows = "1>0",
    .linear = "0",
    .types = "t,i->t",
    .grad = grad,
    .flops = pl_lookup_take_flops,
    .ref = pl_lookup_take,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 8, 4 } }, { 2, { 2, 3 }, "i32", 0, 8 } } },
        { "vh,bs->(bs)h", .in = { { 2, { 5, 2 } }, { 2, { 2, 3 }, "i64", -1, 6 } } },
        { "avh,bs->absh", .in = { { 3, { 2, 5, 4 } }, { 2, { 2, 3 }, "i64", 0, 5 } } },
        { NULL, .in = { { 2, { 8, 4 }, "i64" }, { 2, { 2, 3 }, "i32", 0, 8 } } },
        { "v,n->n", .in = { { 1, { 4 }, "bf16" }, { 1, { 6 }, "i32" } } },
        { "vh,bs->bh", .in = { { 2, { 5, 4 } }, { 2, { 2, 3 }, "i32", -1, 5 } } },
        { "tvh,bt->bth", .in = { { 3, { 4, 5, 2 } }, { 2, { 2, 4 }, "i32", 0, 5 } } },
        { "tvh,bts->bth", .in = { { 3, { 2, 5, 4 } }, { 3, { 2, 2, 4 }, "i32", -1, 5 } } }),
};
