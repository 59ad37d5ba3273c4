/* leaky_relu: y = x where x >= 0, else alpha x. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *alpha = pl_elementwise_attrs(b, n);
    dx[0] = PL_LIKE(b, n, &pl_op_leaky_relu_grad, alpha, n->in[0], dy[0]);
}

static double leaky_relu(const double x[], const double attr[])
{
    double alpha = attr[0];
    return x[0] < 0 ? alpha * x[0] : x[0];
}

const pl_op pl_op_leaky_relu = {
    .name = "leaky_relu",
    .sig = "...->...",
    .attrs = "alpha=0.01",
    .elementwise = true,
    .grad = grad,
    .ref = pl_elementwise_ref,
    .element = leaky_relu,
    .examples =
        PL_EXAMPLES({ "; alpha=0.3", .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } },
                    { "; alpha=0.3", .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
                    { "ab->ab; alpha=0.3", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 1 } } }),
};
