/* sub: y = a - b. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = pl_elementwise_fold(b, n, 0, dy[0]);
    const char *spec = pl_elementwise_spec(b, n, "{1}->{1}; value=-1");
    dx[1] = PL_ADD(b, &pl_op_scale, spec, pl_elementwise_fold(b, n, 1, dy[0]));
}

static double sub(double a, double b)
{
    return a - b;
}

const pl_op pl_op_sub = {
    .name = "sub",
    PL_BINARY(sub),
    .types = "t",
    .linear = "01",
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                            { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } } },
                            { "a(hd),ah->a(hd); h=2", .in = { { 2, { 3, 6 } }, { 2, { 3, 2 } } } },
                            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } }),
};
