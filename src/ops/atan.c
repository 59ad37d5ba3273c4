/* atan: y = arctan x; dx = dy cos^2 y, which is dy / (1 + x x). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *c = PL_LIKE(b, n, &pl_op_cos, NULL, n->out[0]);
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, c, PL_LIKE(b, n, &pl_op_mul, NULL, c, dy[0]));
}

const pl_op pl_op_atan = {
    .name = "atan",
    PL_UNARY(atan),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-3, 3),
};
