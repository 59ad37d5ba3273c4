/* sinh: y = (e^x - e^-x) / 2; dx = dy cosh x. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], PL_LIKE(b, n, &pl_op_cosh, NULL, n->in[0]));
}

const pl_op pl_op_sinh = {
    .name = "sinh",
    PL_UNARY(sinh),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-2, 2),
};
