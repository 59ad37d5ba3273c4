/* rms_norm_grad: with hat = x rstd and g = dy (offset + scale),
 *   dx     = rstd (g - hat mean_h(g hat))
 *   dscale = sum over rows of dy hat
 * Splitting rows leaves partial sums of dscale. rstd is taken as what rms_norm gave for x. The
 * row must be called h. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

enum { X, RSTD, SCALE, DY };

static double hat_at(const pl_walk *w, const void *const in[])
{
    return pl_element_get(w, in, X) * pl_element_get(w, in, RSTD);
}

static double g_at(const pl_walk *w, double offset, const void *const in[])
{
    return pl_element_get(w, in, DY) * (offset + pl_element_get(w, in, SCALE));
}

/* h walks along a row, r over the rows. */
static void put_dscale(pl_walk h, pl_walk r, const void *const in[], void *const out[])
{
    do {
        double dscale = 0;
        pl_walk_to(&r, &h);
        do dscale += pl_element_get(&r, in, DY) * hat_at(&r, in);
        while (pl_walk_next(&r));
        pl_element_put(&h, out, 1, dscale);
    } while (pl_walk_next(&h));
}

static void put_dx(pl_walk h, pl_walk r, double offset, const void *const in[], void *const out[])
{
    double count = (double)pl_walk_count(&h);
    do {
        double dot = 0, rstd = pl_element_get(&r, in, RSTD);
        pl_walk_to(&h, &r);
        do dot += g_at(&h, offset, in) * hat_at(&h, in);
        while (pl_walk_next(&h));
        do pl_element_put(&h, out, 0, rstd * (g_at(&h, offset, in) - hat_at(&h, in) * dot / count));
        while (pl_walk_next(&h));
    } while (pl_walk_next(&r));
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t rows = pl_walk_mask(s->node, RSTD), row = pl_walk_mask(s->node, X) & ~rows;
    pl_walk h = pl_walk_new(s, row), r = pl_walk_new(s, rows);
    put_dscale(h, r, in, out); /* first, since dx may be written over x */
    put_dx(h, r, pl_node_real(s->node, "offset", 0), in, out);
}

const pl_op pl_op_rms_norm_grad = {
    .name = "rms_norm_grad",
    .sig = "...h,...,h,...h->...h,h",
    .whole = "h",
    .linear = "3",
    .types = "fFff>ff",
    .attrs = "offset=0",
    .elementwise = true,
    .flops_per_out = 9, /* hat 1, g 1, mean 2, dx 3, dscale 2 */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 8 } }, { 1, { 4 } }, { 1, { 8 } }, { 2, { 4, 8 } } } },
        { NULL, .in = { { 3, { 2, 3, 5 } }, { 2, { 2, 3 } }, { 1, { 5 } }, { 3, { 2, 3, 5 } } } },
        { "; offset=1", .in = { { 2, { 4, 8 } }, { 1, { 4 } }, { 1, { 8 } }, { 2, { 4, 8 } } } },
        { "bhs,bs,h,bhs->bhs,h",
          .in = { { 3, { 2, 5, 3 } }, { 2, { 2, 3 } }, { 1, { 5 } }, { 3, { 2, 5, 3 } } } }),
};
