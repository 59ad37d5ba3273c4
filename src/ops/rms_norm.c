/* rms_norm: y = x rstd (offset + scale) with rstd = 1 / sqrt(mean_h(x^2) + eps) of each row h.
 * Gives y and rstd; rstd is for the gradient and has none itself. The row must be called h.
 * offset=1 is Gemma's, whose scales are told from 1.
 * Source: Zhang, Sennrich, Root Mean Square Layer Normalization, 2019. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

#include <math.h>

enum { X, SCALE, Y, RSTD };

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    if (!dy[0] || dy[1]) {
        pl_err_set(&b->err, PL_EUNSUPPORTED, "node '%s': rms_norm's rstd is not differentiable",
                   n->name);
        return;
    }
    double offset = pl_node_real(n, "offset", 0);
    const char *spec = "{0},{3},{1},{2}->{0},{1}";
    if (offset > 0 || offset < 0) spec = pl_builder_fmt(b, "%s; offset=%.17g", spec, offset);
    const pl_node *g = pl_add_node(b, &pl_op_rms_norm_grad, NULL, pl_spec(b, n, spec), 4,
                                   (pl_value *const[]){ n->in[X], n->out[1], n->in[SCALE], dy[0] });
    for (int i = 0; g && i < 2; i++) dx[i] = g->out[i];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double eps = pl_node_real(n, "eps", 0), offset = pl_node_real(n, "offset", 0);
    uint32_t rows = pl_walk_mask(n, RSTD);
    pl_walk r = pl_walk_new(s, rows), h = pl_walk_new(s, pl_walk_mask(n, X) & ~rows);
    double count = (double)pl_walk_count(&h);
    do {
        double square = 0;
        pl_walk_to(&h, &r);
        do square += pow(pl_element_get(&h, in, X), 2);
        while (pl_walk_next(&h));
        double rstd = 1 / sqrt(square / count + eps);
        do {
            double hat = pl_element_get(&h, in, X) * rstd;
            pl_element_put(&h, out, 0, hat * (offset + pl_element_get(&h, in, SCALE)));
        } while (pl_walk_next(&h));
        pl_element_put(&r, out, 1, rstd);
    } while (pl_walk_next(&r));
}

/* y alone, of which there is a gradient. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    return PL_ADD(b, &pl_op_rms_norm, spec, in[X], in[SCALE]);
}

const pl_op pl_op_rms_norm = {
    .name = "rms_norm",
    .sig = "...h,h->...h,...",
    .whole = "h",
    .types = "ff>fF",
    .attrs = "eps=1e-6 offset=0",
    .elementwise = true,
    .grad = grad,
    .flops_per_out = 4, /* square and sum 2, times rstd, times scale */
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } }, { 1, { 8 } } }, build },
                    { NULL, .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } }, build },
                    { "bhs,h->bhs,bs; eps=0.1", .in = { { 3, { 2, 5, 3 } }, { 1, { 5 } } }, build },
                    { NULL, .in = { { 2, { 4, 8 }, "bf16" }, { 1, { 8 }, "bf16" } }, build },
                    { "; offset=1", .in = { { 2, { 4, 8 } }, { 1, { 8 } } }, build }),
};
