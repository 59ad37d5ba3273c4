/* layer_norm_grad: with hat = (x - mean) rstd and g = dy scale,
 *   dx     = rstd (g - mean_h(g) - hat mean_h(g hat))
 *   dscale = sum over rows of dy hat
 *   dbias  = sum over rows of dy
 * Splitting rows leaves partial sums of dscale and dbias. mean and rstd are taken as what layer_norm
 * gave for x: dx is the total derivative. The row must be called h. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

enum { X, MEAN, RSTD, SCALE, DY, DX, DSCALE, DBIAS };

static double flops(const pl_share *s)
{
    /* hat 2, g 1, two means 3, dx 4, dscale 2, dbias 1 */
    return 13.0 * (double)pl_shape_count(&s->out[0]);
}

static double hat_at(const pl_walk *w, const void *const in[])
{
    const pl_node *n = w->share->node;
    double x = pl_type_get(n->in[X]->type, in[X], w->at[X]);
    return (x - pl_type_get(n->in[MEAN]->type, in[MEAN], w->at[MEAN])) *
           pl_type_get(n->in[RSTD]->type, in[RSTD], w->at[RSTD]);
}

static double dy_at(const pl_walk *w, const void *const in[])
{
    return pl_type_get(w->share->node->in[DY]->type, in[DY], w->at[DY]);
}

static double g_at(const pl_walk *w, const void *const in[])
{
    return dy_at(w, in) * pl_type_get(w->share->node->in[SCALE]->type, in[SCALE], w->at[SCALE]);
}

/* First dscale and dbias, since dx may be written over x. */
static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    uint32_t row = pl_walk_mask(n, X) & ~pl_walk_mask(n, MEAN);
    pl_walk h = pl_walk_new(s, row), r = pl_walk_new(s, pl_walk_mask(n, MEAN));
    do {
        double dscale = 0, dbias = 0;
        pl_walk_to(&r, &h);
        do {
            dscale += dy_at(&r, in) * hat_at(&r, in);
            dbias += dy_at(&r, in);
        } while (pl_walk_next(&r));
        pl_type_put(n->out[1]->type, out[1], h.at[DSCALE], dscale);
        pl_type_put(n->out[2]->type, out[2], h.at[DBIAS], dbias);
    } while (pl_walk_next(&h));
    r = pl_walk_new(s, pl_walk_mask(n, MEAN));
    double count = (double)pl_walk_count(&h);
    do {
        double sum = 0, dot = 0;
        pl_walk_to(&h, &r);
        do {
            sum += g_at(&h, in);
            dot += g_at(&h, in) * hat_at(&h, in);
        } while (pl_walk_next(&h));
        double rstd = pl_type_get(n->in[RSTD]->type, in[RSTD], r.at[RSTD]);
        do pl_type_put(n->out[0]->type, out[0], h.at[DX],
                       rstd * (g_at(&h, in) - sum / count - hat_at(&h, in) * dot / count));
        while (pl_walk_next(&h));
    } while (pl_walk_next(&r));
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
            { NULL, .in = { { 2, { 4, 8 } }, { 1, { 4 } }, { 1, { 4 } }, { 1, { 8 } },
                            { 2, { 4, 8 } } } },
            { NULL, .in = { { 3, { 2, 3, 5 } }, { 2, { 2, 3 } }, { 2, { 2, 3 } }, { 1, { 5 } },
                            { 3, { 2, 3, 5 } } } },
            { "bhs,bs,bs,h,bhs->bhs,h,h",
              .in = { { 3, { 2, 5, 3 } }, { 2, { 2, 3 } }, { 2, { 2, 3 } }, { 1, { 5 } },
                      { 3, { 2, 5, 3 } } } },
            { 0 },
        },
};
