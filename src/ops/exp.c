/* exp: y = e^x; dx = dy y. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], n->out[0]);
}

const pl_op pl_op_exp = {
    .name = "exp",
    PL_UNARY(exp),
    .grad = grad,
    .work_per_out = 16,
    .examples = PL_UNARY_EXAMPLES(-1, 1),
};
