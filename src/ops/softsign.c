/* softsign: y = x / (1 + |x|). */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_softsign_grad, NULL, n->in[0], dy[0]);
}

static double softsign(double x)
{
    return x / (1 + fabs(x));
}

const pl_op pl_op_softsign = {
    .name = "softsign",
    PL_UNARY(softsign),
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 2 } } },
                            { NULL, .in = { { 2, { 4, 7 }, .lo = -2, .hi = -0.1 } } },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 2 } } }),
};
