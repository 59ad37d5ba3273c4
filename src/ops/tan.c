/* tan: y = tan x, x in radians; dx = dy + dy y y. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *y = n->out[0], *dyy = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], y);
    dx[0] = PL_LIKE(b, n, &pl_op_add, NULL, dy[0], PL_LIKE(b, n, &pl_op_mul, NULL, dyy, y));
}

const pl_op pl_op_tan = {
    .name = "tan",
    PL_UNARY(tan),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-1, 1),
};
