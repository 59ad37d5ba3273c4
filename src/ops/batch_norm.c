/* batch_norm: y = (x - mean) rstd scale + bias per channel c, with mean and rstd =
 * 1 / sqrt(var + eps) from batch_norm_stats of the *same x*; relu=1: y = max(0, ...). The number of
 * values per channel is the whole one, whatever the split: "synchronised" batch norm. The gradient
 * is the total one, through sum and sumsq too, so nothing flows into those.
 * Source: Ioffe, Szegedy, Batch Normalization, 2015; var is biased. */
#include "graph/op.h"
#include "ops/lib/batch_norm.h"
#include "ops/lib/element.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *attrs = pl_builder_fmt(b, "eps=%.17g relu=%d", pl_node_real(n, "eps", 0),
                                       (int)pl_node_int(n, "relu", 0));
    const char *params = pl_builder_fmt(b, "{0},{1},{2},{3},{4},{5}->{3},{4}; %s", attrs);
    const char *data = pl_builder_fmt(b, "{0},{1},{2},{3},{4},{3},{4},{5}->{0}; %s", attrs);
    pl_value *const *x = n->in;
    const pl_node *p = pl_add_node(b, &pl_op_batch_norm_grad_params, NULL, pl_spec(b, n, params), 6,
                                   (pl_value *const[]){ x[0], x[1], x[2], x[3], x[4], dy[0] });
    if (!p) return;
    dx[PL_BN_SCALE] = p->out[0];
    dx[PL_BN_BIAS] = p->out[1];
    dx[PL_BN_X] = PL_ADD(b, &pl_op_batch_norm_grad, pl_spec(b, n, data), x[0], x[1], x[2], x[3],
                         x[4], p->out[0], p->out[1], dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    bool relu = pl_node_int(s->node, "relu", 0);
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, PL_BN_X));
    do {
        double rstd, hat = pl_batch_norm_hat(&w, in, &rstd);
        double y = hat * pl_element_get(&w, in, PL_BN_SCALE) + pl_element_get(&w, in, PL_BN_BIAS);
        pl_element_put(&w, out, 0, relu && y < 0 ? 0 : y);
    } while (pl_walk_next(&w));
}

/* The function that is differentiated has the statistics of its own x, in the letters of a node
 * that nothing needs. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    const pl_node *like = pl_add_node(b, &pl_op_batch_norm, NULL, spec, 5, in);
    if (!like) return NULL;
    const char *letters = pl_spec(b, like, "{0}->{1},{2}");
    const pl_node *s = pl_add_node(b, &pl_op_batch_norm_stats, NULL, letters, 1, in);
    if (!s) return NULL;
    return PL_ADD(b, &pl_op_batch_norm, spec, in[PL_BN_X], s->out[0], s->out[1], in[PL_BN_SCALE],
                  in[PL_BN_BIAS]);
}

/* sum and sumsq with a positive variance, for the 18 to 30 values per channel below */
/* clang-format off */
#define SUMS(c) { 1, { c }, .lo = -3, .hi = 3 }, { 1, { c }, .lo = 10, .hi = 20 }
/* clang-format on */

const pl_op pl_op_batch_norm = {
    .name = "batch_norm",
    .sig = "...c,c,c,c,c->...c",
    .types = "fFFff>f",
    .attrs = "eps=1e-5 relu=0",
    .elementwise = true,
    .grad = grad,
    .flops_per_out = 2, /* a x + b, a and b made once per channel */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 4, { 3, 2, 3, 4 } }, SUMS(4), { 1, { 4 } }, { 1, { 4 } } }, build },
        { "nc...,c,c,c,c->nc...; eps=0.1",
          .in = { { 4, { 2, 3, 5, 3 } }, SUMS(3), { 1, { 3 } }, { 1, { 3 } } }, build },
        { "; relu=1",
          .in = { { 3, { 4, 5, 3 }, .lo = -4, .hi = 4 }, SUMS(3), { 1, { 3 } }, { 1, { 3 } } },
          build },
        { "n(gc),(gc),(gc),(gc),(gc)->n(gc); g=2",
          .in = { { 2, { 18, 6 } }, SUMS(6), { 1, { 6 } }, { 1, { 6 } } }, build },
        { NULL,
          .in = { { 3, { 3, 6, 4 }, "bf16" }, SUMS(4), { 1, { 4 }, "bf16" }, { 1, { 4 }, "bf16" } },
          build }),
};
