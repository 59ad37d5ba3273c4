/* clip_grad: dx = dy where lo <= x <= hi, else 0, from the input x of clip. */
#include "graph/op.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double lo = pl_node_real(s->node, "lo", 0), hi = pl_node_real(s->node, "hi", 0);
    for (int64_t i = 0, count = pl_shape_count(&s->out[0]); i < count; i++) {
        double x = pl_type_get(t, in[0], i);
        pl_type_put(t, out[0], i, x < lo || x > hi ? 0 : pl_type_get(t, in[1], i));
    }
}

const pl_op pl_op_clip_grad = {
    .name = "clip_grad",
    .sig = "...,...->...",
    .linear = "1",
    .attrs = "lo=-1e308 hi=1e308",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; lo=-0.5 hi=0.5", .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "ab,ab->ab; lo=-0.5 hi=0.5",
              .in = { { 2, { 3, 5 }, "bf16" }, { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
