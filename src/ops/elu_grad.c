/* elu_grad: dx = dy where x > 0, else dy alpha e^x, from the input x of elu. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double elu_grad(const double x[], const double attr[])
{
    double alpha = attr[0];
    return (x[0] > 0 ? 1 : alpha * exp(x[0])) * x[1];
}

const pl_op pl_op_elu_grad = {
    .name = "elu_grad",
    .sig = "...,...->...",
    .linear = "1",
    .attrs = "alpha=1",
    .elementwise = true,
    .work_per_out = 16,
    .ref = pl_elementwise_ref,
    .element = elu_grad,
    .examples = PL_EXAMPLES(
        { "; alpha=0.7", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "ab,ab->ab; alpha=0.7", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
