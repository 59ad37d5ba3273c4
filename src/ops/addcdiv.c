/* addcdiv: y = a + value d b / c, one element each, d a scalar, value a constant of the graph.
 * Source: torch.addcdiv, whose value is the number value d of a step. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return 4.0 * (double)pl_shape_count(&s->out[0]);
}

static double apply(const pl_share *s, const double x[])
{
    return x[0] + pl_node_real(s->node, "value", 0) * x[3] * x[1] / x[2];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_addcdiv = {
    .name = "addcdiv",
    .sig = "...,...,...,->...",
    .linear = "01|03",
    .attrs = "value=1",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; value=-1", .in = { { 2, { 4, 7 } },
                                    { 2, { 4, 7 } },
                                    { 2, { 4, 7 }, .lo = 0.5, .hi = 2 },
                                    { 0, { 0 } } } },
            { "a(bc),a(bc),a(bc),->a(bc); b=2", .in = { { 2, { 3, 8 } },
                                                        { 2, { 3, 8 } },
                                                        { 2, { 3, 8 }, .lo = -2, .hi = -0.5 },
                                                        { 0, { 0 } } } },
            { 0 },
        },
};
