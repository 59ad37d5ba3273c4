/* scale: y = value x, one element each, value a constant of the graph. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{1}; value=%.17g", pl_node_real(n, "value", 0));
    dx[0] = PL_ADD(b, &pl_op_scale, pl_elementwise_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double value = pl_node_real(s->node, "value", 0);
    for (int64_t i = 0, n = pl_shape_count(&s->out[0]); i < n; i++)
        pl_type_put(t, out[0], i, value * pl_type_get(t, in[0], i));
}

const pl_op pl_op_scale = {
    .name = "scale",
    .sig = "...->...",
    .linear = "0",
    .attrs = "value=1",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; value=-0.3", .in = { { 2, { 4, 7 } } } },
            { "ab->ab; value=2", .in = { { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
