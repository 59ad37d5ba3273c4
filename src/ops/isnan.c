/* isnan: 1 where x is a NaN, else 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double is_nan(double x)
{
    return isnan(x) ? 1 : 0;
}

const pl_op pl_op_isnan = {
    .name = "isnan",
    PL_UNARY(is_nan),
    .types = "f->b",
    .examples = PL_UNARY_EXAMPLES(-1, 1),
};
