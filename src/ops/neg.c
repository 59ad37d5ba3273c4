/* neg: y = -x; not of u8, which has no sign. */
#include "ops/lib/elementwise.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_LIKE(b, n, &pl_op_neg, NULL, dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)sig;
    return n->in[0]->type != PL_U8 || pl_err_set(err, PL_EINPUT, "u8 has no sign: add a cast");
}

static double negate(double x)
{
    return -x;
}

const pl_op pl_op_neg = {
    .name = "neg",
    PL_UNARY(negate),
    .types = "t",
    .linear = "0",
    .infer = infer,
    .grad = grad,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } } },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
                            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } }),
};
