/* asinh: the inverse of sinh; dx = dy / cosh y, as cosh y = sqrt(1 + x x). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_div, NULL, dy[0], PL_LIKE(b, n, &pl_op_cosh, NULL, n->out[0]));
}

const pl_op pl_op_asinh = {
    .name = "asinh",
    PL_UNARY(asinh),
    .grad = grad,
    .work_per_out = 30,
    .examples = PL_UNARY_EXAMPLES(-3, 3),
};
