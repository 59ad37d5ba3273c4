/* batch_norm_grad_params: with hat = (x - mean) rstd, and dy taken as 0 where relu cut y off,
 *   dscale = sum of dy hat, dbias = sum of dy, per channel c over all other letters.
 * Splitting those leaves partial sums; batch_norm_grad needs them whole. */
#include "graph/op.h"
#include "ops/lib/batch_norm.h"
#include "ops/lib/element.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t channel = pl_walk_mask(s->node, PL_BN_SUM), all = pl_walk_mask(s->node, PL_BN_X);
    pl_walk c = pl_walk_new(s, channel), i = pl_walk_new(s, all & ~channel);
    do {
        double dscale = 0, dbias = 0;
        pl_walk_to(&i, &c);
        do {
            pl_batch_norm_point p = pl_batch_norm_at(&i, in, 5);
            dscale += p.g * p.hat;
            dbias += p.g;
        } while (pl_walk_next(&i));
        pl_element_put(&c, out, 0, dscale);
        pl_element_put(&c, out, 1, dbias);
    } while (pl_walk_next(&c));
}

/* clang-format off */
#define SUMS(c) { 1, { c }, .lo = -3, .hi = 3 }, { 1, { c }, .lo = 10, .hi = 20 }
#define CHANNELS(c) SUMS(c), { 1, { c } }, { 1, { c } }
/* clang-format on */

const pl_op pl_op_batch_norm_grad_params = {
    .name = "batch_norm_grad_params",
    .sig = "...c,c,c,c,c,...c->c,c",
    .types = "fFFfff>ff",
    .linear = "5",
    .attrs = "eps=1e-5 relu=0",
    .flops_per_in = 5, /* hat 2, dscale 2, dbias 1 */
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 4, { 3, 2, 3, 4 } }, CHANNELS(4), { 4, { 3, 2, 3, 4 } } } },
                    { "nc...,c,c,c,c,nc...->c,c; relu=1 eps=0.1",
                      .in = { { 4, { 2, 3, 5, 3 } }, CHANNELS(3), { 4, { 2, 3, 5, 3 } } } }),
};
