/* round: the nearest whole number, halves to the even one, one element each. Its gradient is
 * 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    double low = floor(x[0]), rest = x[0] - low; /* no rint: its mode is the caller's */
    return rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0) ? low + 1 : low;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_round = {
    .name = "round",
    .sig = "...->...",
    .elementwise = true,
    .grad = pl_elementwise_flat,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -4, .hi = 4 } } },
            { 0 },
        },
};
