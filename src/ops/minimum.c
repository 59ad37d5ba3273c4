/* minimum: y = the smaller of a and b. The gradient goes to it, to a when they are equal. */
#include "ops/lib/elementwise.h"

static double smaller(double a, double b)
{
    return a <= b ? a : b;
}

const pl_op pl_op_minimum = {
    .name = "minimum",
    PL_BINARY(smaller),
    .types = "t",
    .grad = pl_elementwise_smaller,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 }, .lo = 1.1, .hi = 2 } } },
        { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 }, .lo = -2, .hi = -1.1 } } },
        { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 }, .lo = -2, .hi = -1.1 } } },
        { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } }),
};
