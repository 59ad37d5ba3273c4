/* div: y = a / b; da = dy / b, db = - dy y / b. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{2},{1}->{2}");
    dx[0] = pl_elementwise_fold(b, n, 0, PL_ADD(b, &pl_op_div, spec, dy[0], n->in[1]));
    pl_value *q = PL_ADD(b, &pl_op_div, spec, n->out[0], n->in[1]);
    const pl_op *op = pl_share_same_index(n, 1, 2) ? &pl_op_mul : &pl_op_einsum;
    pl_value *sum = PL_ADD(b, op, pl_elementwise_spec(b, n, "{2},{2}->{1}"), dy[0], q);
    dx[1] = PL_ADD(b, &pl_op_scale, pl_elementwise_spec(b, n, "{1}->{1}; value=-1"), sum);
}

static double divide(double a, double b)
{
    return a / b;
}

const pl_op pl_op_div = {
    .name = "div",
    PL_BINARY(divide),
    .linear = "0",
    .grad = grad,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 }, .lo = 0.5, .hi = 2 } } },
        { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 }, .lo = -2, .hi = -0.5 } } },
        { "n,...n->...n", .in = { { 1, { 5 } }, { 3, { 2, 3, 5 }, .lo = 0.5, .hi = 2 } } }),
};
