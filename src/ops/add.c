/* add: y = a + b. The gradient of a repeated operand is summed. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    for (int i = 0; i < 2; i++) dx[i] = pl_elementwise_fold(b, n, i, dy[0]);
}

static double add(double a, double b)
{
    return a + b;
}

const pl_op pl_op_add = {
    .name = "add",
    PL_BINARY(add),
    .types = "t",
    .linear = "01",
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } }, { 2, { 4, 8 } } } },
                            { "...n,n->...n", .in = { { 3, { 2, 4, 8 } }, { 1, { 8 } } } },
                            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } }),
};
