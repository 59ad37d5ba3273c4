/* pow_grad_base: the gradient of pow in its base, dy b a^(b - 1), with the whole shape where the
 * base was repeated; 0 where b is 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double grad_base(const double x[], const double attr[])
{
    (void)attr;
    double a = x[0], b = x[1], dy = x[2];
    return b == 0 ? 0 : dy * b * pow(a, b - 1);
}

const pl_op pl_op_pow_grad_base = {
    .name = "pow_grad_base",
    .sig = "...,...,...->...",
    .form = "0123 023 123",
    .linear = "2",
    .elementwise = true,
    .work_per_out = 44,
    .ref = pl_elementwise_ref,
    .element = grad_base,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "an,n,an->an",
          .in = { { 2, { 3, 6 }, .lo = 0.5, .hi = 2 }, { 1, { 6 } }, { 2, { 3, 6 } } } }),
};
