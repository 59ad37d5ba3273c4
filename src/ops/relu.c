/* relu: y = max(x, 0). Its gradient needs y alone, so x need not be kept. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_relu_grad, NULL, n->out[0], dy[0]);
}

static double relu(double x)
{
    return x < 0 ? 0 : x;
}

const pl_op pl_op_relu = {
    .name = "relu",
    PL_UNARY(relu),
    .grad = grad,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } }, /* away from the kink */
        { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
        { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } }),
};
