/* segment_max: of each bag b the largest of its rows, y[b, h] = max of x[n, h] over begin[b] <= n <
 * end[b]; an empty bag is 0, a NaN in a bag wins. n is a lookup letter: shares of n leave partial
 * results that combine by the maximum. Source: torch.nn.EmbeddingBag(mode="max"). */
#include "ops/lib/segment.h"
#include "ops/list.h"

#include <math.h>

enum { X, BEGIN, END };

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_segment_max_grad, pl_spec(b, n, "{0},{3},{3},{1},{2}->{0}"), n->in[X],
                   n->out[0], dy[0], n->in[BEGIN], n->in[END]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 3));
    const int64_t step = pl_segment_step(&w, X);
    int64_t whole;
    do {
        const pl_range rows = pl_segment_rows(&w, in, BEGIN, &whole);
        double top = whole ? -INFINITY : 0;
        for (int64_t i = 0; i < rows.n; i++) {
            const double x = pl_type_get(n->in[X]->type, in[X], w.at[X] + (rows.lo + i) * step);
            if (x > top || isnan(x)) top = x;
        }
        pl_type_put(n->out[0]->type, out[0], w.at[3], top);
    } while (pl_walk_next(&w));
}

/* So that a central difference does not change which one it is. */
#define APART .lo = -50, .hi = 50

const pl_op pl_op_segment_max = {
    .name = "segment_max",
    .sig = "nh,b,b->bh",
    .lookup = "n",
    .types = "f,i,i->f",
    .monoid = PL_MAX,
    .grad = grad,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL,
          .in = { { 2, { 6, 4 }, APART }, { 1, { 4 }, "i32", 0, 4 }, { 1, { 4 }, "i32", 2, 7 } } },
        { "n,b,b->b",
          .in = { { 1, { 8 }, APART }, { 1, { 3 }, "i64", 0, 6 }, { 1, { 3 }, "i64", 1, 9 } } }),
};
