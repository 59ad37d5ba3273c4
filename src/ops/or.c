/* or: 1 where a or b is not 0, else 0, of u8. */
#include "ops/lib/elementwise.h"

static double any(double a, double b)
{
    return a != 0 || b != 0;
}

const pl_op pl_op_or = {
    .name = "or",
    PL_BINARY(any),
    .types = "b",
    .examples = pl_elementwise_logical,
};
