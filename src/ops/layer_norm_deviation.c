/* layer_norm_deviation: sum of (x - mean)^2 of each row h, in f32, with mean = sum / count from the
 * *whole* row's sum (layer_norm_sum). Splitting h leaves partial sums. The mean goes in first
 * because the sum of squares minus the square of the sum would lose all digits of rows whose mean
 * is far larger than their deviation (Chan, Golub, LeVeque, Algorithms for computing the sample
 * variance, 1983). It has no gradient of its own: layer_norm's dx is the total one. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/layer_norm.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t rows = pl_walk_mask(s->node, PL_LN_SUM);
    pl_walk r = pl_walk_new(s, rows), h = pl_walk_new(s, pl_walk_mask(s->node, PL_LN_X) & ~rows);
    double count = pl_layer_norm_count(s->node);
    do {
        double square = 0, mean = pl_element_get(&r, in, PL_LN_SUM) / count;
        pl_walk_to(&h, &r);
        do {
            double x = pl_element_get(&h, in, PL_LN_X) - mean;
            square += x * x;
        } while (pl_walk_next(&h));
        pl_element_put(&r, out, 0, square);
    } while (pl_walk_next(&r));
}

const pl_op pl_op_layer_norm_deviation = {
    .name = "layer_norm_deviation",
    .sig = "...h,...->...",
    .types = "fF>F",
    .flops_per_in = 3, /* sub, multiply, add */
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 3, { 2, 4, 5 } }, { 2, { 2, 4 } } } },
                            { "bhsd,sb->bs", .in = { { 4, { 2, 5, 3, 4 } }, { 2, { 3, 2 } } } },
                            { NULL, .in = { { 2, { 4, 6 }, "bf16" }, { 1, { 4 } } } }),
};
