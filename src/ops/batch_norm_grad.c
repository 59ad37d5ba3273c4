/* batch_norm_grad: dx = scale rstd (dy - dbias / N - hat dscale / N) with hat = (x - mean) rstd,
 * N values per channel c in the whole batch, dy taken as 0 where relu cut y off; dscale and
 * dbias from batch_norm_grad_params. It is the total derivative, through mean and variance too.
 * Source: Ioffe, Szegedy, Batch Normalization, 2015, section 3. */
#include "graph/op.h"
#include "ops/lib/batch_norm.h"
#include "ops/lib/element.h"
#include "ops/list.h"

enum { DSCALE = PL_BN_BIAS + 1, DBIAS, DY };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    double count = pl_batch_norm_count(s->node);
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, PL_BN_X));
    do {
        pl_batch_norm_point p = pl_batch_norm_at(&w, in, DY);
        double dbias = pl_element_get(&w, in, DBIAS), dscale = pl_element_get(&w, in, DSCALE);
        double g = p.g - dbias / count - p.hat * dscale / count;
        pl_element_put(&w, out, 0, pl_element_get(&w, in, PL_BN_SCALE) * p.rstd * g);
    } while (pl_walk_next(&w));
}

/* clang-format off */
#define SUMS(c) { 1, { c }, .lo = -3, .hi = 3 }, { 1, { c }, .lo = 10, .hi = 20 }
#define CHANNELS(c) SUMS(c), { 1, { c } }, { 1, { c } }, { 1, { c } }, { 1, { c } }
/* clang-format on */

const pl_op pl_op_batch_norm_grad = {
    .name = "batch_norm_grad",
    .sig = "...c,c,c,c,c,c,c,...c->...c",
    .types = "fFFfffff>f",
    .linear = "567",
    .attrs = "eps=1e-5 relu=0",
    .elementwise = true,
    .flops_per_out = 4, /* a dy + b x + c, made once per channel */
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 4, { 3, 2, 3, 4 } }, CHANNELS(4), { 4, { 3, 2, 3, 4 } } } },
                    { "nc...,c,c,c,c,c,c,nc...->nc...; relu=1 eps=0.1",
                      .in = { { 4, { 2, 3, 5, 3 } }, CHANNELS(3), { 4, { 2, 3, 5, 3 } } } }),
};
