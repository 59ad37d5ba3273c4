/* cos: y = cos x, x in radians; dx = - dy sin x. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *sin_x = PL_LIKE(b, n, &pl_op_sin, NULL, n->in[0]);
    dx[0] = PL_LIKE(b, n, &pl_op_neg, NULL, PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], sin_x));
}

const pl_op pl_op_cos = {
    .name = "cos",
    PL_UNARY(cos),
    .grad = grad,
    .work_per_out = 20,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
