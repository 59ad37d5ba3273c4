/* pow_grad_base: the gradient of pow in its base, dy b a^(b - 1), with the whole shape where the
 * base was repeated; 0 where b is 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[1] == 0 ? 0 : x[2] * x[1] * pow(x[0], x[1] - 1);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_pow_grad_base = {
    .name = "pow_grad_base",
    .sig = "...,...,...->...",
    .form = "0123 023 123",
    .linear = "2",
    .elementwise = true,
    .each = 44,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL,
              .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 }, { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "an,n,an->an",
              .in = { { 2, { 3, 6 }, .lo = 0.5, .hi = 2 }, { 1, { 6 } }, { 2, { 3, 6 } } } },
            { 0 },
        },
};
