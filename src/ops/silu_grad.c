/* silu_grad: dx = dy s (1 + x (1 - s)) with s = 1 / (1 + e^-x), from the input x of silu. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    double g = 1 / (1 + exp(-x[0]));
    (void)s;
    return x[1] * g * (1 + x[0] * (1 - g));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_silu_grad = {
    .name = "silu_grad",
    .sig = "...,...->...",
    .linear = "1",
    .elementwise = true,
    .each = 32,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 }, { 2, { 4, 7 } } } },
            { NULL, .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
