/* sigmoid: y = 1 / (1 + e^-x); dx = dy y - dy y y. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *y = n->out[0], *dyy = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], y);
    dx[0] = PL_LIKE(b, n, &pl_op_sub, NULL, dyy, PL_LIKE(b, n, &pl_op_mul, NULL, dyy, y));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

const pl_op pl_op_sigmoid = {
    .name = "sigmoid",
    PL_UNARY(sigmoid),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
