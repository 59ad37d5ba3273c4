/* relu_grad: dx = dy where y > 0, else 0, from the output y of relu. */
#include "ops/lib/elementwise.h"

static double relu_grad(double y, double dy)
{
    return y > 0 ? dy : 0;
}

const pl_op pl_op_relu_grad = {
    .name = "relu_grad",
    PL_UNARY_GRAD(relu_grad),
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                            { NULL, .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
