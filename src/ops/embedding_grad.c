/* embedding_grad: the table's gradient: dtable[r, h] = sum of dy[..., h] over ids[...] = r, summed
 * in the type of dy. v, the table's rows, is a lookup letter: a share of v makes its rows; a share
 * of the ids leaves a partial sum. Bags and many tables as embedding has them. */
#include "graph/op.h"
#include "ops/lib/lookup.h"
#include "ops/list.h"

const pl_op pl_op_embedding_grad = {
    .name = "embedding_grad",
    .sig = "...,...h->vh",
    .form = "v:2 01 12 0 012",
    .lookup = "v",
    .linear = "1",
    .types = "i,f->f",
    .flops = pl_lookup_add_flops,
    .ref = pl_lookup_add,
    .examples = PL_EXAMPLES(
        { "; v=8", .in = { { 2, { 2, 3 }, "i32", 0, 8 }, { 3, { 2, 3, 4 } } } },
        { "bs,(bs)h->vh; v=4 b=2", .in = { { 2, { 2, 5 }, "i64", -1, 5 }, { 2, { 10, 2 } } } },
        { "bs,bh->vh; v=6", .in = { { 2, { 2, 3 }, "i32", -1, 6 }, { 2, { 2, 4 } } } },
        { "bt,bth->tvh; v=4", .in = { { 2, { 6, 2 }, "i32", 0, 4 }, { 3, { 6, 2, 4 } } } },
        { "bts,bth->tvh; v=5", .in = { { 3, { 2, 4, 2 }, "i32", -1, 5 }, { 3, { 2, 4, 2 } } } }),
};
