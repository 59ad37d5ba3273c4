/* sqrt: y = sqrt(x); dx = dy / (2 y). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *half = PL_LIKE(b, n, &pl_op_scale, "value=0.5", dy[0]);
    dx[0] = PL_LIKE(b, n, &pl_op_div, NULL, half, n->out[0]);
}

const pl_op pl_op_sqrt = {
    .name = "sqrt",
    PL_UNARY(sqrt),
    .grad = grad,
    .examples = PL_UNARY_EXAMPLES(0.5, 3),
};
