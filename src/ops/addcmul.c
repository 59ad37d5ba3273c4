/* addcmul: y = a + value b c, one element each, value a constant of the graph; a signature such as
 * "...,...,->..." repeats a smaller b or c. Source: torch.addcmul. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double flops(const pl_share *s)
{
    return 3.0 * (double)pl_shape_count(&s->out[0]);
}

static double apply(const pl_share *s, const double x[])
{
    return x[0] + pl_node_real(s->node, "value", 0) * x[1] * x[2];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_addcmul = {
    .name = "addcmul",
    .sig = "...,...,...->...",
    .form = "0123 013 023",
    .linear = "01|02",
    .attrs = "value=1",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; value=0.5", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "...,...,->...; value=-1", .in = { { 2, { 3, 5 } }, { 2, { 3, 5 } }, { 0, { 0 } } } },
            { "a(bc),a(bc),a->a(bc); b=2",
              .in = { { 2, { 3, 8 }, "bf16" }, { 2, { 3, 8 }, "bf16" }, { 1, { 3 }, "bf16" } } },
            { 0 },
        },
};
