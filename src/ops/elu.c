/* elu: y = x where x >= 0, else alpha (e^x - 1).
 * Source: Clevert et al., ICLR 2016. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *alpha = pl_elementwise_attrs(b, n);
    dx[0] = PL_LIKE(b, n, &pl_op_elu_grad, alpha, n->in[0], dy[0]);
}

static double elu(const double x[], const double attr[])
{
    double alpha = attr[0];
    return x[0] < 0 ? alpha * expm1(x[0]) : x[0];
}

const pl_op pl_op_elu = {
    .name = "elu",
    .sig = "...->...",
    .attrs = "alpha=1",
    .elementwise = true,
    .grad = grad,
    .work_per_out = 20,
    .ref = pl_elementwise_ref,
    .element = elu,
    .examples =
        PL_EXAMPLES({ "; alpha=0.7", .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } },
                    { "; alpha=0.7", .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
                    { "ab->ab; alpha=0.7", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 1 } } }),
};
