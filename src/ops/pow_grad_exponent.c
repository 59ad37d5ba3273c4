/* pow_grad_exponent: the gradient of pow in its exponent, dy a^b ln a, with the whole shape where
 * the exponent was repeated; 0 where a is 0 and b is not negative, NaN where a is negative. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double grad_exponent(const double x[], const double attr[])
{
    (void)attr;
    double a = x[0], b = x[1], dy = x[2];
    return a == 0 && b >= 0 ? 0 : dy * pow(a, b) * log(a);
}

const pl_op pl_op_pow_grad_exponent = {
    .name = "pow_grad_exponent",
    .sig = "...,...,...->...",
    .form = "0123 023 123",
    .linear = "2",
    .elementwise = true,
    .work_per_out = 64,
    .ref = pl_elementwise_ref,
    .element = grad_exponent,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "an,n,an->an",
          .in = { { 2, { 3, 6 }, .lo = 0.5, .hi = 2 }, { 1, { 6 } }, { 2, { 3, 6 } } } }),
};
