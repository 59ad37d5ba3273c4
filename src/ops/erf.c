/* erf: y = 2 / sqrt(pi) times the integral of exp(-t t) from 0 to x. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_erf_grad, NULL, n->in[0], dy[0]);
}

const pl_op pl_op_erf = {
    .name = "erf",
    PL_UNARY(erf),
    .grad = grad,
    .work_per_out = 30,
    .examples = PL_UNARY_EXAMPLES(-2, 2),
};
