/* mul: y = a b. The gradient of a repeated operand is an einsum: it multiplies and sums at once. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    static const char *const spec[] = { "{2},{1}->{0}", "{2},{0}->{1}" };
    for (int i = 0; i < 2; i++) {
        const pl_op *op = pl_share_same_index(n, i, 2) ? &pl_op_mul : &pl_op_einsum;
        dx[i] = PL_ADD(b, op, pl_elementwise_spec(b, n, spec[i]), dy[0], n->in[1 - i]);
    }
}

static double mul(double a, double b)
{
    return a * b;
}

const pl_op pl_op_mul = {
    .name = "mul",
    PL_BINARY(mul),
    .types = "t",
    .linear = "0|1",
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                            { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } } },
                            { "m,n->mn", .in = { { 1, { 4 } }, { 1, { 5 } } } },
                            { "a(hd),ah->a(hd); h=2", .in = { { 2, { 3, 6 } }, { 2, { 3, 2 } } } },
                            { "...,->...", .in = { { 2, { 3, 4 } }, { 0, { 0 } } } },
                            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } }),
};
