/* addcmul: y = a + value b c, value a constant of the graph; a signature such as "...,...,->..."
 * repeats a smaller b or c. Source: torch.addcmul. */
#include "ops/lib/elementwise.h"

static double addcmul(const double x[], const double attr[])
{
    return x[0] + attr[0] * x[1] * x[2];
}

const pl_op pl_op_addcmul = {
    .name = "addcmul",
    .sig = "...,...,...->...",
    .form = "0123 013 023",
    .linear = "01|02",
    .attrs = "value=1",
    .elementwise = true,
    .flops_per_out = 3,
    .ref = pl_elementwise_ref,
    .element = addcmul,
    .examples = PL_EXAMPLES(
        { "; value=0.5", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "...,...,->...; value=-1", .in = { { 2, { 3, 5 } }, { 2, { 3, 5 } }, { 0, { 0 } } } },
        { "a(bc),a(bc),a->a(bc); b=2",
          .in = { { 2, { 3, 8 }, "bf16" }, { 2, { 3, 8 }, "bf16" }, { 1, { 3 }, "bf16" } } }),
};
