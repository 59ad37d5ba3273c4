/* cos: y = cos x, one element each, x in radians; dx = - dy sin x. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *one = pl_elementwise_spec(b, n, "{1}->{1}");
    const char *two = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    pl_value *part = PL_ADD(b, &pl_op_mul, two, dy[0], PL_ADD(b, &pl_op_sin, one, n->in[0]));
    dx[0] = PL_ADD(b, &pl_op_neg, one, part);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return cos(x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_cos = {
    .name = "cos",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -4, .hi = 4 } } },
            { 0 },
        },
};
