/* floor: the largest whole number that is not above x, one element each. Its gradient is
 * 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return floor(x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_floor = {
    .name = "floor",
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
