/* coalesce: the gradient of the rows of a table that a step has read, each once: y[m, h] is the
 * sum, in their order, of the rows[..., h] whose id is that in the list, list[m]; an id of -1 there
 * has zeros. "...,m,...h->mh". The list is what unique leaves: it ascends, then it is -1. A share
 * of the ids leaves a partial sum, a share of m makes its rows. Bags and many tables as embedding
 * has them: "bts,tm,bth->tmh". */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return (double)pl_walk_points(s, pl_walk_mask(s->node, 0) | pl_walk_mask(s->node, 2));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type t = n->out[0]->type, ids = n->in[0]->type, list = n->in[1]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0) | pl_walk_mask(n, 1) | pl_walk_mask(n, 2));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        const double id = pl_type_get(ids, in[0], w.at[0]);
        if (id < 0 || id != pl_type_get(list, in[1], w.at[1])) continue;
        const double sum = pl_type_get(t, out[0], w.at[3]) + pl_type_get(t, in[2], w.at[2]);
        pl_type_put(t, out[0], w.at[3], sum);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_coalesce = {
    .name = "coalesce",
    .sig = "...,m,...h->mh",
    .form = "02 13 23 0 0123",
    .linear = "2",
    .types = "i,i,f->f",
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 1, { 6 }, "i32", 0, 4 }, { 1, { 4 }, "i32", -1, 4 }, { 2, { 6, 4 } } } },
        { NULL,
          .in = { { 2, { 2, 4 }, "i64", -1, 3 }, { 1, { 6 }, "i64", -1, 3 }, { 3, { 2, 4, 2 } } } },
        { "bs,m,(bs)h->mh",
          .in = { { 2, { 2, 2 }, "i32", 0, 3 }, { 1, { 3 }, "i32", 0, 3 }, { 2, { 4, 4 } } } },
        { "bs,m,bh->mh",
          .in = { { 2, { 2, 3 }, "i32", -1, 3 }, { 1, { 4 }, "i32", 0, 3 }, { 2, { 2, 4 } } } },
        { "bts,tm,bth->tmh", .in = { { 3, { 3, 2, 2 }, "i32", -1, 3 },
                                     { 2, { 2, 4 }, "i32", -1, 3 },
                                     { 3, { 3, 2, 2 } } } }),
};
