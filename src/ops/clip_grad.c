/* clip_grad: dx = dy where lo <= x <= hi, else 0, from the input x of clip. */
#include "ops/lib/elementwise.h"

static double clip_grad(const double x[], const double attr[])
{
    double lo = attr[0], hi = attr[1];
    return x[0] < lo || x[0] > hi ? 0 : x[1];
}

const pl_op pl_op_clip_grad = {
    .name = "clip_grad",
    .sig = "...,...->...",
    .linear = "1",
    .attrs = "lo=-1e308 hi=1e308",
    .elementwise = true,
    .ref = pl_elementwise_ref,
    .element = clip_grad,
    .examples = PL_EXAMPLES({ "; lo=-0.5 hi=0.5", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
                            { "ab,ab->ab; lo=-0.5 hi=0.5",
                              .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } }),
};
