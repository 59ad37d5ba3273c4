/* elu: y = x where x >= 0, else alpha (e^x - 1), one element each.
 * Source: Clevert et al., ICLR 2016. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *alpha = pl_builder_fmt(b, "{1},{1}->{1}; alpha=%.17g", pl_node_real(n, "alpha", 0));
    dx[0] = PL_ADD(b, &pl_op_elu_grad, pl_elementwise_spec(b, n, alpha), n->in[0], dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    double alpha = pl_node_real(s->node, "alpha", 0);
    for (int64_t i = 0, count = pl_shape_count(&s->out[0]); i < count; i++) {
        double x = pl_type_get(t, in[0], i);
        pl_type_put(t, out[0], i, x < 0 ? alpha * expm1(x) : x);
    }
}

const pl_op pl_op_elu = {
    .name = "elu",
    .sig = "...->...",
    .attrs = "alpha=1",
    .elementwise = true,
    .grad = grad,
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; alpha=0.7", .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } },
            { "; alpha=0.7", .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
            { "ab->ab; alpha=0.7", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 1 } } },
            { 0 },
        },
};
