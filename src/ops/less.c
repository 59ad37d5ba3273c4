/* less: 1 where a < b, else 0, one element each; a signature such as "...n,n->...n" repeats the
 * smaller operand. With a NaN it is 0. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] < x[1];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_less = {
    .name = "less",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t,t->b",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } } },
            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } },
            { "m,n->mn", .in = { { 1, { 4 }, "u8", 0, 3 }, { 1, { 6 }, "u8", 0, 3 } } },
            { 0 },
        },
};
