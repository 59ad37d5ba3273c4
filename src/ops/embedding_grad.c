/* embedding_grad: the table's gradient: dtable[r, h] = sum of dy[..., h] over ids[...] = r, summed
 * in the type of dy. v, the table's rows, is a lookup letter: a share of v makes its rows; a share
 * of the ids leaves a partial sum. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return (double)pl_shape_count(&s->in[1]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int v = pl_sig_find(n->sig, 'v');
    pl_range rows = s->factor[v];
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    pl_move_zero(t, out[0], pl_shape_count(&s->out[0]));
    do {
        double row = pl_type_get(n->in[0]->type, in[0], w.at[0]) - (double)rows.lo;
        if (!(row >= 0 && row < (double)rows.n)) continue;
        int64_t to = w.at[2] + (int64_t)row * w.stride[2][v];
        pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + pl_type_get(t, in[1], w.at[1]));
    } while (pl_walk_next(&w));
}

const pl_op pl_op_embedding_grad = {
    .name = "embedding_grad",
    .sig = "...,...h->vh",
    .lookup = "v",
    .linear = "1",
    .types = "i,f->f",
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; v=8", .in = { { 2, { 2, 3 }, "i32", 0, 8 }, { 3, { 2, 3, 4 } } } },
        { "bs,(bs)h->vh; v=4 b=2", .in = { { 2, { 2, 5 }, "i64", -1, 5 }, { 2, { 10, 2 } } } }),
};
