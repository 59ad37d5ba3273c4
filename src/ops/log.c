/* log: y = ln x; dx = dy / x. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_div, NULL, dy[0], n->in[0]);
}

const pl_op pl_op_log = {
    .name = "log",
    PL_UNARY(log),
    .grad = grad,
    .work_per_out = 20,
    .examples = PL_UNARY_EXAMPLES(0.5, 3),
};
