/* acos: y = arccos x; dx = - dy / sin y, as sin y = sqrt(1 - x x). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *sin_y = PL_LIKE(b, n, &pl_op_sin, NULL, n->out[0]);
    dx[0] = PL_LIKE(b, n, &pl_op_neg, NULL, PL_LIKE(b, n, &pl_op_div, NULL, dy[0], sin_y));
}

const pl_op pl_op_acos = {
    .name = "acos",
    PL_UNARY(acos),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-0.9, 0.9),
};
