/* silu_grad: dx = dy s (1 + x (1 - s)) with s = 1 / (1 + e^-x), from the input x of silu. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double silu_grad(double x, double dy)
{
    double s = 1 / (1 + exp(-x));
    return dy * s * (1 + x * (1 - s));
}

const pl_op pl_op_silu_grad = {
    .name = "silu_grad",
    PL_UNARY_GRAD(silu_grad),
    .work_per_out = 32,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 }, { 2, { 4, 7 } } } },
                            { NULL, .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
