/* abs: y = |x|; dx = dy sign(x), which is 0 at 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_mul, NULL, dy[0], PL_LIKE(b, n, &pl_op_sign, NULL, n->in[0]));
}

const pl_op pl_op_abs = {
    .name = "abs",
    PL_UNARY(fabs),
    .types = "t",
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } },
                            { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 1 } } },
                            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } }),
};
