/* gelu_grad: dx = dy gelu'(x), from the input x of gelu; the attribute tanh is gelu's.
 *   tanh=0   P(x) + x p(x), with the normal distribution P and density p
 *   tanh=1   0.5 (1 + t) + 0.5 x (1 - t^2) u', with t = tanh u,
 *            u = sqrt(2 / pi) (x + 0.044715 x^3) */
#include "ops/lib/elementwise.h"

#include <math.h>

static double by_erf(double x, double dy)
{
    double below = 0.5 * (1 + erf(x * M_SQRT1_2));
    double density = 0.5 * M_2_SQRTPI * M_SQRT1_2 * exp(-0.5 * x * x); /* 1 / sqrt(2 pi) ... */
    return dy * (below + x * density);
}

static double by_tanh(double x, double dy)
{
    double c = sqrt(M_2_PI), a = 0.044715, t = tanh(c * (x + a * x * x * x));
    return dy * 0.5 * (1 + t + x * (1 - t * t) * c * (1 + 3 * a * x * x));
}

static double gelu_grad(const double x[], const double attr[])
{
    return attr[0] == 0 ? by_erf(x[0], x[1]) : by_tanh(x[0], x[1]);
}

const pl_op pl_op_gelu_grad = {
    .name = "gelu_grad",
    .sig = "...,...->...",
    .attrs = "tanh=1",
    .linear = "1",
    .elementwise = true,
    .work_per_out = 40,
    .ref = pl_elementwise_ref,
    .element = gelu_grad,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 }, { 2, { 4, 7 } } } },
                    { "; tanh=0", .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 }, { 2, { 4, 7 } } } },
                    { NULL, .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
