/* batch_norm_stats: the sum and the sum of squares of each channel c over all other letters.
 * Splitting those leaves partial sums: the collective that adds them synchronises batch norm. It
 * has no gradient of its own: batch_norm's dx is the total one. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t channel = pl_walk_mask(s->node, 1);
    pl_walk c = pl_walk_new(s, channel), i = pl_walk_new(s, pl_walk_mask(s->node, 0) & ~channel);
    do {
        double sum = 0, sumsq = 0;
        pl_walk_to(&i, &c);
        do {
            double x = pl_element_get(&i, in, 0);
            sum += x;
            sumsq += x * x;
        } while (pl_walk_next(&i));
        pl_element_put(&c, out, 0, sum);
        pl_element_put(&c, out, 1, sumsq);
    } while (pl_walk_next(&c));
}

const pl_op pl_op_batch_norm_stats = {
    .name = "batch_norm_stats",
    .sig = "...c->c,c",
    .types = "f>FF",
    .flops_per_in = 3, /* add, multiply, add */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 4, { 3, 2, 5, 4 } } } },
                            { "nc...->c,c", .in = { { 4, { 2, 3, 5, 3 } } } },
                            { NULL, .in = { { 2, { 6, 4 }, "bf16" } } }),
};
