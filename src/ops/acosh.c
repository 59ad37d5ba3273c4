/* acosh: the inverse of cosh for x >= 1; dx = dy / sinh y, as sinh y = sqrt(x x - 1). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_div, NULL, dy[0], PL_LIKE(b, n, &pl_op_sinh, NULL, n->out[0]));
}

const pl_op pl_op_acosh = {
    .name = "acosh",
    PL_UNARY(acosh),
    .grad = grad,
    .work_per_out = 30,
    .examples = PL_UNARY_EXAMPLES(1.2, 4),
};
