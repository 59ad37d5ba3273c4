/* batch_norm_eval: batch norm outside of training, y = (x - mean) / sqrt(var + eps) scale + bias
 * per channel c, with the running mean and variance; relu=1: y = max(0, ...). Forward only. */
#include "ops/lib/elementwise.h"

#include <math.h>

enum { X, MEAN, VAR, SCALE, BIAS };

static double normalize(const double x[], const double attr[])
{
    double eps = attr[0], relu = attr[1], rstd = 1 / sqrt(x[VAR] + eps);
    double y = (x[X] - x[MEAN]) * rstd * x[SCALE] + x[BIAS];
    return relu != 0 && y < 0 ? 0 : y;
}

/* clang-format off */
#define CHANNELS(c) { 1, { c } }, { 1, { c }, .lo = 0, .hi = 2 }, { 1, { c } }, { 1, { c } }
/* clang-format on */

const pl_op pl_op_batch_norm_eval = {
    .name = "batch_norm_eval",
    .sig = "...c,c,c,c,c->...c",
    .types = "fFFff>f",
    .attrs = "eps=1e-5 relu=0",
    .elementwise = true,
    .flops_per_out = 2, /* a x + b, a and b made once per channel */
    .ref = pl_elementwise_ref,
    .element = normalize,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 4, { 3, 2, 3, 4 } }, CHANNELS(4) } },
        { "nc...,c,c,c,c->nc...; relu=1", .in = { { 4, { 2, 3, 5, 3 } }, CHANNELS(3) } }),
};
