/* layer_norm_grad: with hat = (x - mean) rstd and a row's gs and gh from layer_norm_grad_sums,
 *   dx = rstd (dy scale - gs / H - hat gh / H)
 * for rows of H values in all. It is the total derivative, through mean and deviation too. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/layer_norm.h"
#include "ops/list.h"

enum { GS = PL_LN_BIAS, GH, DY };

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    double count = pl_layer_norm_count(s->node);
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, PL_LN_X));
    do {
        double rstd, hat = pl_layer_norm_hat(&w, in, &rstd);
        double g = pl_element_get(&w, in, DY) * pl_element_get(&w, in, PL_LN_SCALE);
        double gs = pl_element_get(&w, in, GS), gh = pl_element_get(&w, in, GH);
        pl_element_put(&w, out, 0, rstd * (g - gs / count - hat * gh / count));
    } while (pl_walk_next(&w));
}

/* clang-format off */
#define SUMS(rank, count, ...) \
    { rank, __VA_ARGS__, .lo = -3, .hi = 3 }, { rank, __VA_ARGS__, .lo = count, .hi = 2 * (count) }
/* clang-format on */

const pl_op pl_op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .sig = "...h,...,...,h,...,...,...h->...h",
    .types = "fFFfFFf>f",
    .linear = "456",
    .attrs = "eps=1e-5",
    .elementwise = true,
    .flops_per_out = 6, /* hat 2, g 1, the rest made once per row 3 */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 8 } },
                        SUMS(1, 8, { 4 }),
                        { 1, { 8 } },
                        { 1, { 4 } },
                        { 1, { 4 } },
                        { 2, { 4, 8 } } } },
        { "bhs,sb,bs,h,bs,bs,bhs->bhs; eps=0.1", .in = { { 3, { 2, 5, 3 } },
                                                         { 2, { 3, 2 } },
                                                         { 2, { 2, 3 }, .lo = 5, .hi = 9 },
                                                         { 1, { 5 } },
                                                         { 2, { 2, 3 } },
                                                         { 2, { 2, 3 } },
                                                         { 3, { 2, 5, 3 } } } },
        { "b(hd),b,b,(hd),b,b,b(hd)->b(hd); h=3", .in = { { 2, { 4, 6 } },
                                                          SUMS(1, 6, { 4 }),
                                                          { 1, { 6 } },
                                                          { 1, { 4 } },
                                                          { 1, { 4 } },
                                                          { 2, { 4, 6 } } } }),
};
