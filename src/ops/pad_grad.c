/* pad_grad: the gradient of pad: dx at a place of u is the sum of dy at all places of v that took
 * it. Of constant padding slice does the same. */
#include "ops/lib/pad.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_line_scatter(s, in, out, pl_pad_find);
}

const pl_op pl_op_pad_grad = {
    .name = "pad_grad",
    .sig = "...v->...u",
    .whole = "uv",
    .linear = "0",
    .attrs = "lo=0 hi=0 mode=constant",
    .infer = pl_pad_infer,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; u=3 lo=2 hi=1 mode=reflect", .in = { { 2, { 4, 6 } } } },
                            { "vn->un; u=2 lo=2 mode=edge", .in = { { 2, { 4, 4 }, "bf16" } } },
                            { "; u=4 lo=1 hi=1", .in = { { 2, { 4, 6 } } } }),
};
