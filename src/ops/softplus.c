/* softplus: y = ln(1 + e^x); dx = dy sigmoid(x). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], PL_LIKE(b, n, &pl_op_sigmoid, NULL, n->in[0]));
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x))); /* e^x alone would overflow */
}

const pl_op pl_op_softplus = {
    .name = "softplus",
    PL_UNARY(softplus),
    .grad = grad,
    .work_per_out = 36,
    .examples = PL_UNARY_EXAMPLES(-3, 3),
};
