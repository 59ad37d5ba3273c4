/* segment_sum: of each bag b the sum of its rows, y[b, h] = sum of x[n, h] over begin[b] <= n <
 * end[b]; mean=1: divided by how many these are. An empty bag is 0. n is a lookup letter: a share
 * of n leaves a partial sum. Source: torch.nn.EmbeddingBag, whose rows are looked up before. */
#include "ops/lib/segment.h"
#include "ops/list.h"

enum { X, BEGIN, END };

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec =
        pl_builder_fmt(b, "{3},{1},{2}->{0}; mean=%lld", (long long)pl_node_int(n, "mean", 0));
    dx[0] =
        PL_ADD(b, &pl_op_segment_sum_grad, pl_spec(b, n, spec), dy[0], n->in[BEGIN], n->in[END]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const bool mean = pl_node_int(n, "mean", 0) != 0;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 3));
    const int64_t step = pl_segment_step(&w, X);
    int64_t whole;
    do {
        const pl_range rows = pl_segment_rows(&w, in, BEGIN, &whole);
        double sum = 0;
        for (int64_t i = 0; i < rows.n; i++)
            sum += pl_type_get(n->in[X]->type, in[X], w.at[X] + (rows.lo + i) * step);
        pl_type_put(n->out[0]->type, out[0], w.at[3], mean && whole ? sum / (double)whole : sum);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_segment_sum = {
    .name = "segment_sum",
    .sig = "nh,b,b->bh",
    .lookup = "n",
    .linear = "0",
    .types = "f,i,i->f",
    .attrs = "mean=0",
    .grad = grad,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 6, 4 } }, { 1, { 4 }, "i32", 0, 4 }, { 1, { 4 }, "i32", 2, 7 } } },
        { "; mean=1",
          .in = { { 2, { 8, 3 } }, { 1, { 5 }, "i64", 0, 6 }, { 1, { 5 }, "i64", 1, 9 } } },
        { "n,b,b->b",
          .in = { { 1, { 6 } }, { 1, { 2 }, "i32", 0, 3 }, { 1, { 2 }, "i32", 3, 6 } } }),
};
