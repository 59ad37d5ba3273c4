/* isnan: 1 where x is a NaN, else 0, one element each. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return isnan(x[0]) ? 1 : 0;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_isnan = {
    .name = "isnan",
    .sig = "...->...",
    .types = "f->b",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
