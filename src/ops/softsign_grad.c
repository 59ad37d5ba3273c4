/* softsign_grad: dx = dy / (1 + |x|)^2, from the input x of softsign. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double softsign_grad(double x, double dy)
{
    double d = 1 + fabs(x);
    return dy / (d * d);
}

const pl_op pl_op_softsign_grad = {
    .name = "softsign_grad",
    PL_UNARY_GRAD(softsign_grad),
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                    { "ab,ab->ab", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
