/* atanh: the inverse of tanh for |x| < 1, one element each; dx = dy cosh^2 y, which is dy / (1 - x
 * x). */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *one = pl_elementwise_spec(b, n, "{1}->{1}");
    const char *two = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    pl_value *c = PL_ADD(b, &pl_op_cosh, one, n->out[0]);
    dx[0] = PL_ADD(b, &pl_op_mul, two, c, PL_ADD(b, &pl_op_mul, two, c, dy[0]));
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return atanh(x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_atanh = {
    .name = "atanh",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .each = 30,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -0.8, .hi = 0.8 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -0.8, .hi = 0.8 } } },
            { 0 },
        },
};
