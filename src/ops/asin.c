/* asin: y = arcsin x; dx = dy / cos y, as cos y = sqrt(1 - x x). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_div, NULL, dy[0], PL_LIKE(b, n, &pl_op_cos, NULL, n->out[0]));
}

const pl_op pl_op_asin = {
    .name = "asin",
    PL_UNARY(asin),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-0.9, 0.9),
};
