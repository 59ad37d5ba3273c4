/* erf_grad: dx = dy 2 / sqrt(pi) exp(-x x), from the input x of erf. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double erf_grad(double x, double dy)
{
    return dy * M_2_SQRTPI * exp(-x * x);
}

const pl_op pl_op_erf_grad = {
    .name = "erf_grad",
    PL_UNARY_GRAD(erf_grad),
    .work_per_out = 20,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                    { "ab,ab->ab", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
