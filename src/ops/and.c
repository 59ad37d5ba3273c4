/* and: 1 where both a and b are not 0, else 0, one element each of u8; a signature such as
 * "...n,n->...n" repeats the smaller operand. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] != 0 && x[1] != 0;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_and = {
    .name = "and",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "b",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, "u8", 0, 2 }, { 2, { 4, 7 }, "u8", 0, 2 } } },
            { "...n,n->...n", .in = { { 3, { 2, 3, 5 }, "u8", 0, 2 }, { 1, { 5 }, "u8", 0, 2 } } },
            { 0 },
        },
};
