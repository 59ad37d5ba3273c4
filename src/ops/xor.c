/* xor: 1 where just one of a and b is not 0, else 0, of u8. */
#include "ops/lib/elementwise.h"

static double one(double a, double b)
{
    return (a != 0) != (b != 0);
}

const pl_op pl_op_xor = {
    .name = "xor",
    PL_BINARY(one),
    .types = "b",
    .examples = pl_elementwise_logical,
};
