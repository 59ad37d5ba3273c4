/* erf: y = 2 / sqrt(pi) times the integral of exp(-t t) from 0 to x, one element each. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *two = pl_elementwise_spec(b, n, "{1},{1}->{1}");
    dx[0] = PL_ADD(b, &pl_op_erf_grad, two, n->in[0], dy[0]);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return erf(x[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_erf = {
    .name = "erf",
    .sig = "...->...",
    .elementwise = true,
    .grad = grad,
    .each = 30,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, .lo = -2, .hi = 2 } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16", .lo = -2, .hi = 2 } } },
            { 0 },
        },
};
