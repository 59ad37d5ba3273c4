/* floor: the largest whole number that is not above x. Its gradient is 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

const pl_op pl_op_floor = {
    .name = "floor",
    PL_UNARY(floor),
    .grad = pl_elementwise_flat,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
