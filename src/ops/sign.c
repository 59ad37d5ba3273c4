/* sign: -1, 0 or 1, one element each; NaN of a NaN. Its gradient is 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_sign = {
    .name = "sign",
    .sig = "...->...",
    .types = "t",
    .elementwise = true,
    .grad = pl_elementwise_flat,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } },
            { 0 },
        },
};
