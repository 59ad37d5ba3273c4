/* erf_grad: dx = dy 2 / sqrt(pi) exp(-x x), from the input x of erf. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[1] * M_2_SQRTPI * exp(-x[0] * x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_erf_grad = {
    .name = "erf_grad",
    .sig = "...,...->...",
    .linear = "1",
    .elementwise = true,
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "ab,ab->ab", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
