/* segment_sum_grad: dy of bags b as the gradient of their rows: dx[n, h] = sum of dy[b, h] over the
 * bags with begin[b] <= n < end[b]; mean=1: divided by how many rows a bag has. A share of n makes
 * its rows, a share of the bags leaves a partial sum. */
#include "ops/lib/move.h"
#include "ops/lib/segment.h"
#include "ops/list.h"

enum { DY, BEGIN, END };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_type type = n->out[0]->type;
    const bool mean = pl_node_int(n, "mean", 0) != 0;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, DY));
    const int64_t step = pl_segment_step(&w, 3);
    int64_t whole;
    pl_move_zero(type, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        const pl_range rows = pl_segment_rows(&w, in, BEGIN, &whole);
        const double dy = pl_type_get(n->in[DY]->type, in[DY], w.at[DY]);
        for (int64_t i = 0; i < rows.n; i++) {
            const int64_t to = w.at[3] + (rows.lo + i) * step;
            pl_type_put(type, out[0], to,
                        pl_type_get(type, out[0], to) + (mean ? dy / (double)whole : dy));
        }
    } while (pl_walk_next(&w));
}

const pl_op pl_op_segment_sum_grad = {
    .name = "segment_sum_grad",
    .sig = "bh,b,b->nh",
    .lookup = "n",
    .linear = "0",
    .types = "f,i,i->f",
    .attrs = "mean=0",
    .flops_per_out = 1,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; n=6",
          .in = { { 2, { 4, 4 } }, { 1, { 4 }, "i32", 0, 4 }, { 1, { 4 }, "i32", 2, 7 } } },
        { "; n=8 mean=1",
          .in = { { 2, { 5, 3 } }, { 1, { 5 }, "i64", 0, 6 }, { 1, { 5 }, "i64", 1, 9 } } }),
};
