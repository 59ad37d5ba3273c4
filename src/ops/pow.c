/* pow: y = a^b. Of integers it is cut to one, and 0 where a is 0 and b negative. A negative a needs
 * a whole b, else the answer is NaN. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{0},{1},{2}->{2}");
    for (int i = 0; i < 2; i++) {
        const pl_op *op = i ? &pl_op_pow_grad_exponent : &pl_op_pow_grad_base;
        dx[i] = pl_elementwise_fold(b, n, i, PL_ADD(b, op, spec, n->in[0], n->in[1], dy[0]));
    }
}

const pl_op pl_op_pow = {
    .name = "pow",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .elementwise = true,
    .grad = grad,
    .work_per_out = 40,
    .ref = pl_elementwise_ref_fit,
    .binary = pow,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 }, { 2, { 4, 7 }, .lo = -2, .hi = 2 } } },
        { "...n,n->...n", .in = { { 3, { 2, 3, 5 }, .lo = 0.5, .hi = 2 }, { 1, { 5 } } } },
        { "n,...n->...n", .in = { { 1, { 5 }, .lo = 0.5, .hi = 2 }, { 3, { 2, 3, 5 } } } },
        { NULL, .in = { { 1, { 8 }, "i64", -3, 4 }, { 1, { 8 }, "i64", -2, 4 } } }),
};
