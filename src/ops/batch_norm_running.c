/* batch_norm_running: the running mean and variance after a step, (1 - momentum) old + momentum
 * new, from batch_norm_stats of `count` values per channel. The new variance is unbiased, as in
 * PyTorch's BatchNorm2d. count is the whole batch's, so that a split batch gives the same. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

#include <math.h>

enum { MEAN, VAR, SUM, SUMSQ };

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)sig;
    if (pl_node_real(n, "count", 0) >= 2) return true;
    return pl_err_set(err, PL_EINPUT,
                      "count is %g: write count=N, the values per channel, at least 2",
                      pl_node_real(n, "count", 0));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double m = pl_node_real(n, "momentum", 0), count = pl_node_real(n, "count", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, MEAN));
    do {
        double mean = pl_element_get(&w, in, SUM) / count;
        double square = fmax(pl_element_get(&w, in, SUMSQ) - count * mean * mean, 0);
        pl_element_put(&w, out, 0, (1 - m) * pl_element_get(&w, in, MEAN) + m * mean);
        pl_element_put(&w, out, 1,
                       (1 - m) * pl_element_get(&w, in, VAR) + m * square / (count - 1));
    } while (pl_walk_next(&w));
}

const pl_op pl_op_batch_norm_running = {
    .name = "batch_norm_running",
    .sig = "c,c,c,c->c,c",
    .types = "FFFF>FF",
    .inplace = "01",
    .attrs = "momentum=0.1 count=",
    .infer = infer,
    .flops_per_out = 10, /* two moments 4, two averages 6 */
    .ref = ref,
    .examples = PL_EXAMPLES({ "; count=18", .in = { { 1, { 5 } },
                                                    { 1, { 5 }, .lo = 0, .hi = 2 },
                                                    { 1, { 5 }, .lo = -3, .hi = 3 },
                                                    { 1, { 5 }, .lo = 10, .hi = 20 } } },
                            { "; count=2 momentum=0.5", .in = { { 1, { 4 } },
                                                                { 1, { 4 }, .lo = 0, .hi = 2 },
                                                                { 1, { 4 } },
                                                                { 1, { 4 }, .lo = 1, .hi = 2 } } }),
};
