/* less_equal: 1 where a <= b, else 0. With a NaN it is 0. */
#include "ops/lib/elementwise.h"

static double less_equal(double a, double b)
{
    return a <= b;
}

const pl_op pl_op_less_equal = {
    .name = "less_equal",
    PL_BINARY(less_equal),
    .types = "t,t->b",
    .examples = pl_elementwise_compared,
};
