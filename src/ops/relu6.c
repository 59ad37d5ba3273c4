/* relu6: y = min(max(x, 0), 6). Its gradient needs y alone, so x need not be kept.
 * Source: Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_relu6_grad, NULL, n->out[0], dy[0]);
}

static double relu6(double x)
{
    return x < 0 ? 0 : x > 6 ? 6 : x;
}

const pl_op pl_op_relu6 = {
    .name = "relu6",
    PL_UNARY(relu6),
    .grad = grad,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 5.9 } } }, /* away from the kinks */
        { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
        { NULL, .in = { { 2, { 4, 7 }, .lo = 6.1, .hi = 9 } } },
        { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -3, .hi = 9 } } }),
};
