/* relu6_grad: dx = dy where 0 < y < 6, else 0, from the output y of relu6. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] > 0 && x[0] < 6 ? x[1] : 0;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_relu6_grad = {
    .name = "relu6_grad",
    .sig = "...,...->...",
    .linear = "1",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -3, .hi = 9 }, { 2, { 4, 7 } } } },
            { NULL, .in = { { 2, { 3, 5 }, "bf16", .lo = -3, .hi = 9 }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
