/* addcdiv: y = a + value d b / c, d a scalar, value a constant of the graph.
 * Source: torch.addcdiv, whose value is the number value d of a step. */
#include "ops/lib/elementwise.h"

static double addcdiv(const double x[], const double attr[])
{
    return x[0] + attr[0] * x[3] * x[1] / x[2];
}

const pl_op pl_op_addcdiv = {
    .name = "addcdiv",
    .sig = "...,...,...,->...",
    .linear = "01|03",
    .attrs = "value=1",
    .elementwise = true,
    .flops_per_out = 4,
    .ref = pl_elementwise_ref,
    .element = addcdiv,
    .examples = PL_EXAMPLES(
        { "; value=-1", .in = { { 2, { 4, 7 } },
                                { 2, { 4, 7 } },
                                { 2, { 4, 7 }, .lo = 0.5, .hi = 2 },
                                { 0, { 0 } } } },
        { "a(bc),a(bc),a(bc),->a(bc); b=2", .in = { { 2, { 3, 8 } },
                                                    { 2, { 3, 8 } },
                                                    { 2, { 3, 8 }, .lo = -2, .hi = -0.5 },
                                                    { 0, { 0 } } } }),
};
