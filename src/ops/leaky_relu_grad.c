/* leaky_relu_grad: dx = dy where x > 0, else alpha dy, from the input x of leaky_relu: y would not
 * do, as alpha may be negative. */
#include "ops/lib/elementwise.h"

static double leaky_relu_grad(const double x[], const double attr[])
{
    double alpha = attr[0];
    return (x[0] > 0 ? 1 : alpha) * x[1];
}

const pl_op pl_op_leaky_relu_grad = {
    .name = "leaky_relu_grad",
    .sig = "...,...->...",
    .linear = "1",
    .attrs = "alpha=0.01",
    .elementwise = true,
    .ref = pl_elementwise_ref,
    .element = leaky_relu_grad,
    .examples = PL_EXAMPLES(
        { "; alpha=0.3", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "ab,ab->ab; alpha=0.3", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
