/* softsign_grad: dx = dy / (1 + |x|)^2, from the input x of softsign. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    double d = 1 + fabs(x[0]);
    return x[1] / (d * d);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_softsign_grad = {
    .name = "softsign_grad",
    .sig = "...,...->...",
    .linear = "1",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "ab,ab->ab", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
