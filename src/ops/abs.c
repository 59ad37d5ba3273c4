/* abs: y = |x|, one element each; dx = dy sign(x), which is 0 at 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *one = pl_elementwise_spec(b, n, "{1}->{1}");
    const char *two = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    dx[0] = PL_ADD(b, &pl_op_mul, two, dy[0], PL_ADD(b, &pl_op_sign, one, n->in[0]));
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return fabs(x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_abs = {
    .name = "abs",
    .sig = "...->...",
    .types = "t",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = 0.1, .hi = 1 } } },
            { NULL, .in = { { 2, { 4, 7 }, .lo = -1, .hi = -0.1 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = 0.1, .hi = 1 } } },
            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } },
            { 0 },
        },
};
