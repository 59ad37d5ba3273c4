/* isinf: 1 where x is infinite, else 0; positive=0 leaves out the one infinity, negative=0 the
 * other. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double is_inf(const double x[], const double attr[])
{
    double positive = attr[0], negative = attr[1];
    return isinf(x[0]) && (x[0] > 0 ? positive : negative) != 0 ? 1 : 0;
}

const pl_op pl_op_isinf = {
    .name = "isinf",
    .sig = "...->...",
    .types = "f->b",
    .attrs = "positive=1 negative=1",
    .elementwise = true,
    .ref = pl_elementwise_ref,
    .element = is_inf,
    .examples = PL_UNARY_EXAMPLES(-1, 1),
};
