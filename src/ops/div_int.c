/* div_int: y = a / b of integers, cut towards zero, one element each; a signature such as
 * "...n,n->...n" repeats the smaller operand. By 0 it is 0. Unlike div it is not linear in a. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    return pl_elementwise_fit(s, x[0] / x[1]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_div_int = {
    .name = "div_int",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "i",
    .elementwise = true,
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 }, "i64", -99, 99 }, { 2, { 4, 7 }, "i64", -4, 5 } } },
            { "...n,n->...n",
              .in = { { 3, { 2, 3, 6 }, "i32", -99, 99 }, { 1, { 6 }, "i32", 1, 5 } } },
            { 0 },
        },
};
