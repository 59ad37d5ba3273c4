/* batch_norm_eval: batch norm outside of training, y = (x - mean) / sqrt(var + eps) scale + bias
 * per channel c, with the running mean and variance; relu=1: y = max(0, ...). Forward only. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

enum { X, MEAN, VAR, SCALE, BIAS };

static double flops(const pl_share *s)
{
    return 2.0 * (double)pl_shape_count(&s->out[0]); /* a x + b, a and b made once per channel */
}

static double apply(const pl_share *s, const double x[])
{
    double rstd = 1 / sqrt(x[VAR] + pl_node_real(s->node, "eps", 0));
    double y = (x[X] - x[MEAN]) * rstd * x[SCALE] + x[BIAS];
    return pl_node_int(s->node, "relu", 0) && y < 0 ? 0 : y;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
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
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 4, { 3, 2, 3, 4 } }, CHANNELS(4) } },
            { "nc...,c,c,c,c->nc...; relu=1", .in = { { 4, { 2, 3, 5, 3 } }, CHANNELS(3) } },
            { 0 },
        },
};
