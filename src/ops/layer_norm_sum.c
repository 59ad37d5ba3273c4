/* layer_norm_sum: the sum of each row h, in f32. Splitting h leaves partial sums: so a row may lie
 * on several devices. It has no gradient of its own: layer_norm's dx is the total one. */
#include "ops/lib/reduce.h"
#include "ops/list.h"

static double add(double sum, double x)
{
    return sum + x;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_reduce_ref(s, in, out, 0, add);
}

const pl_op pl_op_layer_norm_sum = {
    .name = "layer_norm_sum",
    .sig = "...h->...",
    .types = "f>F",
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 3, { 2, 4, 5 } } } },
                            { "bhsd->bs", .in = { { 4, { 2, 5, 3, 4 } } } },
                            { NULL, .in = { { 2, { 4, 6 }, "bf16" } } }),
};
