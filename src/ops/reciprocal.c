/* reciprocal: y = 1 / x; dx = - dy y y. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *y = n->out[0], *dyy = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], y);
    dx[0] = PL_LIKE(b, n, &pl_op_neg, NULL, PL_LIKE(b, n, &pl_op_mul, NULL, dyy, y));
}

static double reciprocal(double x)
{
    return 1 / x;
}

const pl_op pl_op_reciprocal = {
    .name = "reciprocal",
    PL_UNARY(reciprocal),
    .grad = grad,
    .examples = PL_UNARY_EXAMPLES(0.5, 2),
};
