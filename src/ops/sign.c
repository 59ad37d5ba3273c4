/* sign: -1, 0 or 1; NaN of a NaN. Its gradient is 0. */
#include "ops/lib/elementwise.h"

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

const pl_op pl_op_sign = {
    .name = "sign",
    PL_UNARY(sign),
    .types = "t",
    .grad = pl_elementwise_flat,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } } },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
                            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } }),
};
