/* silu: y = x / (1 + e^-x), also called swish.
 * Source: Elfwing et al., "Sigmoid-weighted linear units", Neural Networks 107, 2018. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_silu_grad, NULL, n->in[0], dy[0]);
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

const pl_op pl_op_silu = {
    .name = "silu",
    PL_UNARY(silu),
    .grad = grad,
    .work_per_out = 24,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
