/* gelu: y = x P(normal < x), one element each.
 *   tanh=0   0.5 x (1 + erf(x / sqrt 2)), the definition
 *   tanh=1   0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation of GPT-2
 * Source: Hendrycks & Gimpel, "Gaussian error linear units", arXiv 1606.08415. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *form = pl_node_int(n, "tanh", 0) ? "; tanh=1" : "; tanh=0";
    const char *spec = pl_elementwise_spec(b, n, pl_builder_fmt(b, "{1},{1}->{1}%s", form));
    dx[0] = PL_ADD(b, &pl_op_gelu_grad, spec, n->in[0], dy[0]);
}

static double apply_erf(const pl_share *s, const double x[])
{
    (void)s;
    return 0.5 * x[0] * (1 + erf(x[0] * M_SQRT1_2));
}

static double apply_tanh(const pl_share *s, const double x[])
{
    (void)s;
    return 0.5 * x[0] * (1 + tanh(sqrt(M_2_PI) * (x[0] + 0.044715 * x[0] * x[0] * x[0])));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, pl_node_int(s->node, "tanh", 0) ? apply_tanh : apply_erf);
}

const pl_op pl_op_gelu = {
    .name = "gelu",
    .sig = "...->...",
    .attrs = "tanh=1",
    .elementwise = true,
    .grad = grad,
    .each = 24,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 } } },
            { "; tanh=0", .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
