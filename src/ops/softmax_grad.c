/* softmax_grad: dx = scale y (dy - sum_v dy y), from softmax's output y. (Where the mask put y = 0
 * the gradient is 0 by itself.) */
#include "graph/op.h"
#include "ops/lib/softmax.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double scale = pl_node_real(s->node, "scale", 0);
    int64_t v = s->shape[0].dim[s->shape[0].rank - 1], rows = pl_shape_count(&s->shape[0]) / v;
    for (int64_t r = 0; r < rows; r++) {
        double dot = 0;
        for (int64_t i = r * v; i < (r + 1) * v; i++)
            dot += pl_type_get(t, in[0], i) * pl_type_get(t, in[1], i);
        for (int64_t i = r * v; i < (r + 1) * v; i++)
            pl_type_put(t, out[0], i,
                        scale * pl_type_get(t, in[0], i) * (pl_type_get(t, in[1], i) - dot));
    }
}

const pl_op pl_op_softmax_grad = {
    .name = "softmax_grad",
    .sig = "...v,...v->...v",
    .whole = "v",
    .linear = "1",
    .attrs = "scale=1",
    .elementwise = true,
    .infer = pl_softmax_infer,
    .flops_per_out = 4,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; scale=0.5", .in = { { 2, { 4, 8 }, .lo = 0, .hi = 1 }, { 2, { 4, 8 } } } }),
};
