/* leaky_relu_grad: dx = dy where x > 0, else alpha dy, from the input x of leaky_relu: y would not
 * do, as alpha may be negative. */
#include "graph/op.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double alpha = pl_node_real(s->node, "alpha", 0);
    for (int64_t i = 0, count = pl_shape_count(&s->out[0]); i < count; i++) {
        double x = pl_type_get(t, in[0], i);
        pl_type_put(t, out[0], i, (x > 0 ? 1 : alpha) * pl_type_get(t, in[1], i));
    }
}

const pl_op pl_op_leaky_relu_grad = {
    .name = "leaky_relu_grad",
    .sig = "...,...->...",
    .linear = "1",
    .attrs = "alpha=0.01",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; alpha=0.3", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "ab,ab->ab; alpha=0.3", .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
