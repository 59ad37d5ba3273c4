/* round: the nearest whole number, halves to the even one. Its gradient is 0. */
#include "ops/lib/elementwise.h"

#include <math.h>

static double round_even(double x)
{
    double low = floor(x), rest = x - low; /* no rint: its mode is the caller's */
    return rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0) ? low + 1 : low;
}

const pl_op pl_op_round = {
    .name = "round",
    PL_UNARY(round_even),
    .grad = pl_elementwise_flat,
    .examples = PL_UNARY_EXAMPLES(-4, 4),
};
