/* layer_norm: y = (x - mean) rstd scale + bias per row h, with mean and rstd = 1 / sqrt(var + eps)
 * from layer_norm_sum and layer_norm_deviation of the *same x*. h passes like every letter: the
 * sums are what a split row has to exchange, two numbers. The gradient is the total one, through
 * sum and deviation too, so nothing flows into those.
 * Source: Ba, Kiros, Hinton, Layer Normalization, 2016; var is biased. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/layer_norm.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    double eps = pl_node_real(n, "eps", 0);
    const char *sums = pl_builder_fmt(b, "{0},{1},{2},{3},{5}->{1},{2},{3},{4}; eps=%.17g", eps);
    const char *data = pl_builder_fmt(b, "{0},{1},{2},{3},{1},{2},{5}->{0}; eps=%.17g", eps);
    pl_value *const *x = n->in;
    const pl_node *s = pl_add_node(b, &pl_op_layer_norm_grad_sums, NULL, pl_spec(b, n, sums), 5,
                                   (pl_value *const[]){ x[0], x[1], x[2], x[3], dy[0] });
    if (!s) return;
    dx[PL_LN_SCALE] = s->out[2];
    dx[PL_LN_BIAS] = s->out[3];
    dx[PL_LN_X] = PL_ADD(b, &pl_op_layer_norm_grad, pl_spec(b, n, data), x[0], x[1], x[2], x[3],
                         s->out[0], s->out[1], dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, PL_LN_X));
    do {
        double rstd, hat = pl_layer_norm_hat(&w, in, &rstd);
        double y = hat * pl_element_get(&w, in, PL_LN_SCALE) + pl_element_get(&w, in, PL_LN_BIAS);
        pl_element_put(&w, out, 0, y);
    } while (pl_walk_next(&w));
}

/* The function that is differentiated has the sums of its own x, in the letters of a node that
 * nothing needs. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    const pl_node *like = pl_add_node(b, &pl_op_layer_norm, NULL, spec, 5, in);
    if (!like) return NULL;
    pl_value *x = in[PL_LN_X];
    pl_value *sum = PL_ADD(b, &pl_op_layer_norm_sum, pl_spec(b, like, "{0}->{1}"), x);
    pl_value *deviation =
        PL_ADD(b, &pl_op_layer_norm_deviation, pl_spec(b, like, "{0},{1}->{2}"), x, sum);
    return PL_ADD(b, &pl_op_layer_norm, spec, x, sum, deviation, in[PL_LN_SCALE], in[PL_LN_BIAS]);
}

/* clang-format off */
#define SUMS(rank, count, ...) \
    { rank, __VA_ARGS__, .lo = -3, .hi = 3 }, { rank, __VA_ARGS__, .lo = count, .hi = 2 * (count) }
#define VECTORS(h) { 1, { h } }, { 1, { h } }
/* clang-format on */

const pl_op pl_op_layer_norm = {
    .name = "layer_norm",
    .sig = "...h,...,...,h,h->...h",
    .types = "fFFff>f",
    .attrs = "eps=1e-5",
    .elementwise = true,
    .grad = grad,
    .flops_per_out = 4, /* sub, two multiplications, add */
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } }, SUMS(1, 8, { 4 }), VECTORS(8) }, build },
                    { NULL, .in = { { 3, { 2, 3, 5 } }, SUMS(2, 5, { 2, 3 }), VECTORS(5) }, build },
                    { "bhs,bs,sb,h,h->bhs; eps=0.1",
                      .in = { { 3, { 2, 5, 3 } },
                              { 2, { 2, 3 } },
                              { 2, { 3, 2 }, .lo = 5, .hi = 9 },
                              VECTORS(5) },
                      build },
                    { "b(hd),b,b,(hd),(hd)->b(hd); h=3",
                      .in = { { 2, { 4, 6 } }, SUMS(1, 6, { 4 }), VECTORS(6) }, build },
                    { NULL,
                      .in = { { 2, { 4, 8 }, "bf16" },
                              SUMS(1, 8, { 4 }),
                              { 1, { 8 }, "bf16" },
                              { 1, { 8 }, "bf16" } },
                      build }),
};
