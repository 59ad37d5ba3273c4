/* rms_norm_grad: with hat = x rstd and g = dy scale,
 *   dx     = rstd (g - hat mean_h(g hat))
 *   dscale = sum over rows of dy hat
 * Splitting rows leaves partial sums of dscale. rstd is taken as what rms_norm gave for x. The row must
 * be called h. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

enum { X, RSTD, SCALE, DY, DX, DSCALE };

static double flops(const pl_share *s)
{
    return 9.0 * (double)pl_shape_count(&s->out[0]); /* hat 1, g 1, mean 2, dx 3, dscale 2 */
}

static double get(const pl_walk *w, const void *const in[], int operand)
{
    return pl_type_get(w->share->node->in[operand]->type, in[operand], w->at[operand]);
}

/* First dscale, since dx may be written over x. */
static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    uint32_t row = pl_walk_mask(n, X) & ~pl_walk_mask(n, RSTD);
    pl_walk h = pl_walk_new(s, row), r = pl_walk_new(s, pl_walk_mask(n, RSTD));
    do {
        double dscale = 0;
        pl_walk_to(&r, &h);
        do dscale += get(&r, in, DY) * get(&r, in, X) * get(&r, in, RSTD);
        while (pl_walk_next(&r));
        pl_type_put(n->out[1]->type, out[1], h.at[DSCALE], dscale);
    } while (pl_walk_next(&h));
    r = pl_walk_new(s, pl_walk_mask(n, RSTD));
    double count = (double)pl_walk_count(&h);
    do {
        double dot = 0, rstd = get(&r, in, RSTD);
        pl_walk_to(&h, &r);
        do dot += get(&h, in, DY) * get(&h, in, SCALE) * get(&h, in, X) * rstd;
        while (pl_walk_next(&h));
        do {
            double g = get(&h, in, DY) * get(&h, in, SCALE), hat = get(&h, in, X) * rstd;
            pl_type_put(n->out[0]->type, out[0], h.at[DX], rstd * (g - hat * dot / count));
        } while (pl_walk_next(&h));
    } while (pl_walk_next(&r));
}

const pl_op pl_op_rms_norm_grad = {
    .name = "rms_norm_grad",
    .sig = "...h,...,h,...h->...h,h",
    .whole = "h",
    .linear = "3",
    .types = "fFff>ff",
    .elementwise = true,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 8 } }, { 1, { 4 } }, { 1, { 8 } }, { 2, { 4, 8 } } } },
            { NULL, .in = { { 3, { 2, 3, 5 } }, { 2, { 2, 3 } }, { 1, { 5 } }, { 3, { 2, 3, 5 } } } },
            { "bhs,bs,h,bhs->bhs,h",
              .in = { { 3, { 2, 5, 3 } }, { 2, { 2, 3 } }, { 1, { 5 } }, { 3, { 2, 5, 3 } } } },
            { 0 },
        },
};
