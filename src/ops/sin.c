/* sin: y = sin x, x in radians; dx = dy cos x. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], PL_LIKE(b, n, &pl_op_cos, NULL, n->in[0]));
}

const pl_op pl_op_sin = {
    .name = "sin",
    PL_UNARY(sin),
    .grad = grad,
    .work_per_out = 20,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
