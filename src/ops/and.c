/* and: 1 where both a and b are not 0, else 0, of u8. */
#include "ops/lib/elementwise.h"

static double both(double a, double b)
{
    return a != 0 && b != 0;
}

const pl_op pl_op_and = {
    .name = "and",
    PL_BINARY(both),
    .types = "b",
    .examples = pl_elementwise_logical,
};
