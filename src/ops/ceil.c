/* ceil: the least whole number that is not below x. Its gradient is 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

const pl_op pl_op_ceil = {
    .name = "ceil",
    PL_UNARY(ceil),
    .grad = pl_elementwise_flat,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
