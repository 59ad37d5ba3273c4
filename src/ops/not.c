/* not: 1 where x is 0, else 0, one element each of u8. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] == 0;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_not = {
    .name = "not",
    .sig = "...->...",
    .types = "b",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, "u8", 0, 2 } } },
            { 0 },
        },
};
