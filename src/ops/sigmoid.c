/* sigmoid: y = 1 / (1 + e^-x), one element each; dx = dy y - dy y y. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    pl_value *y = n->out[0], *dyy = PL_ADD(b, &pl_op_mul, spec, dy[0], y);
    dx[0] = PL_ADD(b, &pl_op_sub, spec, dyy, PL_ADD(b, &pl_op_mul, spec, dyy, y));
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return 1 / (1 + exp(-x[0]));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_sigmoid = {
    .name = "sigmoid",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .each = 24,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -4, .hi = 4 } } },
            { 0 },
        },
};
