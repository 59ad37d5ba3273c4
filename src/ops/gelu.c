/* gelu: y = x P(normal < x).
 *   tanh=0   0.5 x (1 + erf(x / sqrt 2)), the definition
 *   tanh=1   0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation of GPT-2
 * Source: Hendrycks & Gimpel, "Gaussian error linear units", arXiv 1606.08415. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *form = pl_elementwise_attrs(b, n);
    dx[0] = PL_LIKE(b, n, &pl_op_gelu_grad, form, n->in[0], dy[0]);
}

static double gelu(const double in[], const double attr[])
{
    double x = in[0];
    if (attr[0] == 0) return 0.5 * x * (1 + erf(x * M_SQRT1_2));
    return 0.5 * x * (1 + tanh(sqrt(M_2_PI) * (x + 0.044715 * x * x * x)));
}

const pl_op pl_op_gelu = {
    .name = "gelu",
    .sig = "...->...",
    .attrs = "tanh=1",
    .elementwise = true,
    .grad = grad,
    .work_per_out = 24,
    .ref = pl_elementwise_ref,
    .element = gelu,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 } } },
                            { "; tanh=0", .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 } } },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } }),
};
