/* layer_norm: y = (x - mean) rstd scale + bias, with mean and rstd = 1 / sqrt(var + eps) of each
 * row h; var is biased. Gives y, mean and rstd; the last two are for the gradient and have none
 * themselves. The row must be called h.
 * Source: Ba, Kiros, Hinton, Layer Normalization, 2016. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

#include <math.h>

enum { X, SCALE, BIAS, Y, MEAN };

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    if (!dy[0] || dy[1] || dy[2]) {
        pl_err_set(&b->err, PL_EUNSUPPORTED,
                   "node '%s': layer_norm's mean and rstd are not differentiable", n->name);
        return;
    }
    const pl_node *g = pl_add_node(
        b, &pl_op_layer_norm_grad, NULL, pl_spec(b, n, "{0},{4},{5},{1},{3}->{0},{1},{2}"), 5,
        (pl_value *const[]){ n->in[X], n->out[1], n->out[2], n->in[SCALE], dy[0] });
    for (int i = 0; g && i < 3; i++) dx[i] = g->out[i];
}

static double flops(const pl_share *s)
{
    return 8.0 * (double)pl_shape_count(&s->out[0]); /* mean 1, var 3, the rest 4 */
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    double eps = pl_node_real(n, "eps", 0);
    uint32_t rows = pl_walk_mask(n, MEAN);
    pl_walk r = pl_walk_new(s, rows), h = pl_walk_new(s, pl_walk_mask(n, X) & ~rows);
    double count = (double)pl_walk_count(&h);
    do {
        double sum = 0, square = 0;
        pl_walk_to(&h, &r);
        do sum += pl_element_get(&h, in, X);
        while (pl_walk_next(&h));
        double mean = sum / count;
        do square += pow(pl_element_get(&h, in, X) - mean, 2);
        while (pl_walk_next(&h));
        double rstd = 1 / sqrt(square / count + eps);
        do {
            double hat = (pl_element_get(&h, in, X) - mean) * rstd;
            pl_element_put(&h, out, 0,
                           hat * pl_element_get(&h, in, SCALE) + pl_element_get(&h, in, BIAS));
        } while (pl_walk_next(&h));
        pl_element_put(&r, out, 1, mean);
        pl_element_put(&r, out, 2, rstd);
    } while (pl_walk_next(&r));
}

/* y alone, of which there is a gradient. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    return PL_ADD(b, &pl_op_layer_norm, spec, in[X], in[SCALE], in[BIAS]);
}

const pl_op pl_op_layer_norm = {
    .name = "layer_norm",
    .sig = "...h,h,h->...h,...,...",
    .whole = "h",
    .types = "fff>fFF",
    .attrs = "eps=1e-5",
    .elementwise = true,
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 8 } }, { 1, { 8 } }, { 1, { 8 } } }, build },
            { NULL, .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } }, { 1, { 5 } } }, build },
            { "bhs,h,h->bhs,bs,bs; eps=0.1",
              .in = { { 3, { 2, 5, 3 } }, { 1, { 5 } }, { 1, { 5 } } }, build },
            { NULL, .in = { { 2, { 4, 8 }, "bf16" }, { 1, { 8 }, "bf16" }, { 1, { 8 }, "bf16" } },
              build },
            { 0 },
        },
};
