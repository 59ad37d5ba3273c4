/* relu6: y = min(max(x, 0), 6), one element each. Its gradient needs y alone, so x need not be
 * kept. Source: Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    dx[0] = PL_ADD(b, &pl_op_relu6_grad, spec, n->out[0], dy[0]);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] < 0 ? 0 : x[0] > 6 ? 6 : x[0];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_relu6 = {
    .name = "relu6",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 5.9 } } }, /* away from the kinks */
            { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
            { NULL, .in = { { 2, { 4, 7 }, .lo = 6.1, .hi = 9 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -3, .hi = 9 } } },
            { 0 },
        },
};
