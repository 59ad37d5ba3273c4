/* lerp: y = a + weight (b - a), one element each: from a to b, weight a constant of the graph.
 * Source: torch.lerp. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return 3.0 * (double)pl_shape_count(&s->out[0]);
}

static double apply(const pl_share *s, const double x[])
{
    return x[0] + pl_node_real(s->node, "weight", 0) * (x[1] - x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_lerp = {
    .name = "lerp",
    .sig = "...,...->...",
    .linear = "01",
    .attrs = "weight=0.5",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; weight=0.1", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "a(bc),a(bc)->a(bc); b=2",
              .in = { { 2, { 3, 8 }, "bf16" }, { 2, { 3, 8 }, "bf16" } } },
            { 0 },
        },
};
