/* reduce_min: the least over the letters that the output lacks; by default over the last
 * dimension. Splitting such a letter leaves partial results that combine by the minimum;
 * the gradient is shared evenly by all that are equal to it. */
#include "ops/lib/reduce.h"
#include "ops/list.h"

#include <math.h>

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_reduce_ref(s, in, out, INFINITY, fmin);
}

/* So that a central difference does not change which one it is. */
#define APART .lo = -50, .hi = 50

const pl_op pl_op_reduce_min = {
    .name = "reduce_min",
    .sig = "...v->...",
    .types = "t",
    .monoid = PL_MIN,
    .grad = pl_reduce_grad_extreme,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, APART } } },
                            { "abn->n", .in = { { 3, { 2, 3, 5 }, APART } } },
                            { "ab->; a=4", .in = { { 2, { 4, 7 }, APART } } },
                            { "...->", .in = { { 2, { 4, 7 }, "i64", .lo = -9, .hi = 9 } } }),
};
