/* lerp: y = a + weight (b - a): from a to b, weight a constant of the graph.
 * Source: torch.lerp. */
#include "ops/lib/elementwise.h"

static double lerp(const double x[], const double attr[])
{
    return x[0] + attr[0] * (x[1] - x[0]);
}

const pl_op pl_op_lerp = {
    .name = "lerp",
    .sig = "...,...->...",
    .linear = "01",
    .attrs = "weight=0.5",
    .elementwise = true,
    .flops_per_out = 3,
    .ref = pl_elementwise_ref,
    .element = lerp,
    .examples = PL_EXAMPLES(
        { "; weight=0.1", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
        { "a(bc),a(bc)->a(bc); b=2", .in = { { 2, { 3, 8 }, "bf16" }, { 2, { 3, 8 }, "bf16" } } }),
};
