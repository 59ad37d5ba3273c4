/* relu: y = max(x, 0), one element each. Its gradient needs y alone, so x need not be kept. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    dx[0] = PL_ADD(b, &pl_op_relu_grad, spec, n->out[0], dy[0]);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] < 0 ? 0 : x[0];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_relu = {
    .name = "relu",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } }, /* away from the kink */
            { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
