/* not: 1 where x is 0, else 0, of u8. */
#include "ops/lib/elementwise.h"

static double is_0(double x)
{
    return x == 0;
}

const pl_op pl_op_not = {
    .name = "not",
    PL_UNARY(is_0),
    .types = "b",
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, "u8", 0, 2 } } }),
};
