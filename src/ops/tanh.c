/* tanh: y = tanh(x); dx = dy - dy y y. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *y = n->out[0], *dyy = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], y);
    dx[0] = PL_LIKE(b, n, &pl_op_sub, NULL, dy[0], PL_LIKE(b, n, &pl_op_mul, NULL, dyy, y));
}

const pl_op pl_op_tanh = {
    .name = "tanh",
    PL_UNARY(tanh),
    .grad = grad,
    .work_per_out = 38,
    .examples = PL_UNARY_EXAMPLES(-3, 3),
};
