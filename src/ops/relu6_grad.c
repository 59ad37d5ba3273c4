/* relu6_grad: dx = dy where 0 < y < 6, else 0, from the output y of relu6. */
#include "ops/lib/elementwise.h"

static double relu6_grad(double y, double dy)
{
    return y > 0 && y < 6 ? dy : 0;
}

const pl_op pl_op_relu6_grad = {
    .name = "relu6_grad",
    PL_UNARY_GRAD(relu6_grad),
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 9 }, { 2, { 4, 7 } } } },
        { NULL, .in = { { 2, { 3, 5 }, "bf16", .lo = -3, .hi = 9 }, { 2, { 3, 5 }, "bf16" } } }),
};
