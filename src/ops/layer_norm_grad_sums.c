/* layer_norm_grad_sums: with hat = (x - mean) rstd and g = dy scale, per row h
 *   gs = sum of g, gh = sum of g hat, both f32, which layer_norm_grad needs whole,
 * and per h the gradients of the parameters, over the rows:
 *   dscale = sum of dy hat, dbias = sum of dy.
 * Splitting h leaves partial sums of the former, splitting rows of the latter. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/layer_norm.h"
#include "ops/list.h"

enum { DY = PL_LN_BIAS };

/* Outputs `first` and the next at each point of `outer`: sums of v hat and v over `inner`, where v
 * is dy, times scale if so wanted. */
static void put_sums(pl_walk outer, pl_walk inner, const void *const in[], void *const out[],
                     int of_hat, int of_v, bool scaled)
{
    do {
        double rstd, hat_sum = 0, sum = 0;
        pl_walk_to(&inner, &outer);
        do {
            double v = pl_element_get(&inner, in, DY);
            if (scaled) v *= pl_element_get(&inner, in, PL_LN_SCALE);
            hat_sum += v * pl_layer_norm_hat(&inner, in, &rstd);
            sum += v;
        } while (pl_walk_next(&inner));
        pl_element_put(&outer, out, of_hat, hat_sum);
        pl_element_put(&outer, out, of_v, sum);
    } while (pl_walk_next(&outer));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t rows = pl_walk_mask(s->node, PL_LN_SUM);
    pl_walk r = pl_walk_new(s, rows), h = pl_walk_new(s, pl_walk_mask(s->node, PL_LN_X) & ~rows);
    put_sums(r, h, in, out, 1, 0, true);
    put_sums(h, r, in, out, 2, 3, false);
}

/* clang-format off */
#define SUMS(rank, count, ...) \
    { rank, __VA_ARGS__, .lo = -3, .hi = 3 }, { rank, __VA_ARGS__, .lo = count, .hi = 2 * (count) }
/* clang-format on */

const pl_op pl_op_layer_norm_grad_sums = {
    .name = "layer_norm_grad_sums",
    .sig = "...h,...,...,h,...h->...,...,h,h",
    .types = "fFFff>FFff",
    .linear = "4",
    .attrs = "eps=1e-5",
    .flops_per_in = 8, /* hat 2, g 1, and 1, 2, 2, 1 for the sums */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 8 } }, SUMS(1, 8, { 4 }), { 1, { 8 } }, { 2, { 4, 8 } } } },
        { "bhs,sb,bs,h,bsh->bs,bs,h,h; eps=0.1", .in = { { 3, { 2, 5, 3 } },
                                                         { 2, { 3, 2 } },
                                                         { 2, { 2, 3 }, .lo = 5, .hi = 9 },
                                                         { 1, { 5 } },
                                                         { 3, { 2, 3, 5 } } } },
        { "b(hd),b,b,(hd),b(hd)->b,b,(hd),(hd); h=3",
          .in = { { 2, { 4, 6 } }, SUMS(1, 6, { 4 }), { 1, { 6 } }, { 2, { 4, 6 } } } }),
};
