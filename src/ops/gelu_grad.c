/* gelu_grad: dx = dy gelu'(x), from the input x of gelu; the attribute tanh is gelu's.
 *   tanh=0   P(x) + x p(x), with the normal distribution P and density p
 *   tanh=1   0.5 (1 + t) + 0.5 x (1 - t^2) u', with t = tanh u,
 *            u = sqrt(2 / pi) (x + 0.044715 x^3) */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply_erf(const pl_share *s, const double x[])
{
    double below = 0.5 * (1 + erf(x[0] * M_SQRT1_2));
    double density =
        0.5 * M_2_SQRTPI * M_SQRT1_2 * exp(-0.5 * x[0] * x[0]); /* 1 / sqrt(2 pi) ... */
    (void)s;
    return x[1] * (below + x[0] * density);
}

static double apply_tanh(const pl_share *s, const double x[])
{
    double c = sqrt(M_2_PI), a = 0.044715, t = tanh(c * (x[0] + a * x[0] * x[0] * x[0]));
    (void)s;
    return x[1] * 0.5 * (1 + t + x[0] * (1 - t * t) * c * (1 + 3 * a * x[0] * x[0]));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, pl_node_int(s->node, "tanh", 0) ? apply_tanh : apply_erf);
}

const pl_op pl_op_gelu_grad = {
    .name = "gelu_grad",
    .sig = "...,...->...",
    .attrs = "tanh=1",
    .linear = "1",
    .elementwise = true,
    .each = 40,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 }, { 2, { 4, 7 } } } },
            { "; tanh=0", .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 }, { 2, { 4, 7 } } } },
            { NULL, .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
