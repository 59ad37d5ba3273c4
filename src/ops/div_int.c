/* div_int: y = a / b of integers, cut towards zero; by 0 it is 0. Unlike div not linear in a. */
#include "ops/lib/elementwise.h"

static double divide(double a, double b)
{
    return a / b;
}

const pl_op pl_op_div_int = {
    .name = "div_int",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "i",
    .elementwise = true,
    .work_per_out = 20,
    .ref = pl_elementwise_ref_fit,
    .binary = divide,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 }, "i64", -99, 99 }, { 2, { 4, 7 }, "i64", -4, 5 } } },
        { "...n,n->...n",
          .in = { { 3, { 2, 3, 6 }, "i32", -99, 99 }, { 1, { 6 }, "i32", 1, 5 } } }),
};
