/* layer_norm_grad: with hat = (x - mean) rstd and g = dy scale,
 *   dx     = rstd (g - mean_h(g) - hat mean_h(g hat))
 *   dscale = sum over rows of dy hat
 *   dbias  = sum over rows of dy
 * Splitting rows leaves partial sums of dscale and dbias. mean and rstd are taken as what
 * layer_norm gave for x: dx is the total derivative. The row must be called h. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

enum { X, MEAN, RSTD, SCALE, DY };

static double flops(const pl_share *s)
{
    /* hat 2, g 1, two means 3, dx 4, dscale 2, dbias 1 */
    return 13.0 * (double)pl_shape_count(&s->out[0]);
}

static double hat_at(const pl_walk *w, const void *const in[])
{
    return (pl_element_get(w, in, X) - pl_element_get(w, in, MEAN)) * pl_element_get(w, in, RSTD);
}

static double g_at(const pl_walk *w, const void *const in[])
{
    return pl_element_get(w, in, DY) * pl_element_get(w, in, SCALE);
}

/* h walks along a row, r over the rows. */
static void put_params(pl_walk h, pl_walk r, const void *const in[], void *const out[])
{
    do {
        double dscale = 0, dbias = 0;
        pl_walk_to(&r, &h);
        do {
            dscale += pl_element_get(&r, in, DY) * hat_at(&r, in);
            dbias += pl_element_get(&r, in, DY);
        } while (pl_walk_next(&r));
        pl_element_put(&h, out, 1, dscale);
        pl_element_put(&h, out, 2, dbias);
    } while (pl_walk_next(&h));
}

static void put_dx(pl_walk h, pl_walk r, const void *const in[], void *const out[])
{
    double count = (double)pl_walk_count(&h);
    do {
        double sum = 0, dot = 0, rstd = pl_element_get(&r, in, RSTD);
        pl_walk_to(&h, &r);
        do {
            sum += g_at(&h, in);
            dot += g_at(&h, in) * hat_at(&h, in);
        } while (pl_walk_next(&h));
        do {
            double dx = rstd * (g_at(&h, in) - sum / count - hat_at(&h, in) * dot / count);
            pl_element_put(&h, out, 0, dx);
        } while (pl_walk_next(&h));
    } while (pl_walk_next(&r));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t rows = pl_walk_mask(s->node, MEAN), row = pl_walk_mask(s->node, X) & ~rows;
    pl_walk h = pl_walk_new(s, row), r = pl_walk_new(s, rows);
    put_params(h, r, in, out); /* first, since dx may be written over x */
    put_dx(h, r, in, out);
}

const pl_op pl_op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .sig = "...h,...,...,h,...h->...h,h,h",
    .whole = "h",
    .linear = "4",
    .types = "fFFff>fff",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 8 } },
                            { 1, { 4 } },
                            { 1, { 4 } },
                            { 1, { 8 } },
                            { 2, { 4, 8 } } } },
            { NULL, .in = { { 3, { 2, 3, 5 } },
                            { 2, { 2, 3 } },
                            { 2, { 2, 3 } },
                            { 1, { 5 } },
                            { 3, { 2, 3, 5 } } } },
            { "bhs,bs,bs,h,bhs->bhs,h,h", .in = { { 3, { 2, 5, 3 } },
                                                  { 2, { 2, 3 } },
                                                  { 2, { 2, 3 } },
                                                  { 1, { 5 } },
                                                  { 3, { 2, 5, 3 } } } },
            { 0 },
        },
};
