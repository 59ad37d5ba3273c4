/* scale: y = value x, value a constant of the graph. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_scale, pl_elementwise_attrs(b, n), dy[0]);
}

static double scale(const double x[], const double attr[])
{
    return attr[0] * x[0];
}

const pl_op pl_op_scale = {
    .name = "scale",
    .sig = "...->...",
    .linear = "0",
    .attrs = "value=1",
    .elementwise = true,
    .grad = grad,
    .ref = pl_elementwise_ref,
    .element = scale,
    .examples = PL_EXAMPLES({ "; value=-0.3", .in = { { 2, { 4, 7 } } } },
                            { "ab->ab; value=2", .in = { { 2, { 3, 5 }, "bf16" } } }),
};
