/* cross_entropy_sums: per row of logits x with its target class c and top, its largest logit,
 *   sum = sum_v exp(x[v] - top),  picked = x[c], or 0 where c is no class.
 * With label smoothing e, picked = (1 - e) x[c] + e / V sum_v x[v] of V classes in all: so that the
 * loss, log sum + top - picked, is (1 - e) times that of c and e times the mean of those of all
 * classes (Szegedy et al., 2016; torch's label_smoothing).
 * Splitting v leaves partial sums: a share of the classes adds what its own give, and finds c among
 * global positions. With reduce_max before and cross_entropy_loss after, it is the cross-entropy;
 * where rows lie on several devices, these exchange three numbers per row: the vocabulary-parallel
 * loss of Shoeybi et al., Megatron-LM, 2019. top is a constant here: the loss does not depend on
 * what is subtracted, so no gradient flows into it. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    pl_value *d[2] = { dy[0], dy[1] };
    for (int i = 0; i < 2; i++) /* one of them may be unused */
        if (!d[i])
            d[i] = pl_add_value(b, &pl_op_fill, NULL,
                                pl_spec(b, n, i ? "->{4}; value=0" : "->{3}; value=0"), 0, NULL);
    const double smoothing = pl_node_real(n, "smoothing", 0);
    const char *spec = "{0},{1},{2},{3},{4}->{0}";
    if (smoothing > 0) spec = pl_builder_fmt(b, "%s; smoothing=%.17g", spec, smoothing);
    dx[0] = PL_ADD(b, &pl_op_cross_entropy_sums_grad, pl_spec(b, n, spec), n->in[0], n->in[1],
                   n->in[2], d[0], d[1]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const double smoothing = pl_node_real(n, "smoothing", 0);
    (void)sig;
    return (smoothing >= 0 && smoothing <= 1) ||
           pl_err_set(err, PL_EINPUT, "smoothing is %g; it has to be in [0, 1]", smoothing);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->in[0]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    int v = pl_sig_find(n->sig, 'v');
    pl_range here = s->factor[v];
    const double smoothing = pl_node_real(n, "smoothing", 0),
                 each = smoothing / (double)n->sig->factor[v].size;
    do {
        double top = pl_type_get(n->in[2]->type, in[2], w.at[2]), sum = 0, picked = 0, all = 0;
        double c = pl_type_get(n->in[1]->type, in[1], w.at[1]);
        for (int64_t i = 0; i < here.n; i++) {
            double x = pl_type_get(t, in[0], w.at[0] + i * w.stride[0][v]);
            sum += exp(x - top);
            if (c == (double)(here.lo + i)) picked = x;
            all += x;
        }
        if (smoothing > 0) picked = (1 - smoothing) * picked + each * all;
        pl_type_put(n->out[0]->type, out[0], w.at[3], sum);
        pl_type_put(n->out[1]->type, out[1], w.at[4], picked);
    } while (pl_walk_next(&w));
}

/* Only the loss does not depend on top: it is what is differentiated. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    const pl_node *like = pl_add_node(b, &pl_op_cross_entropy_sums, NULL, spec, 3, in);
    if (!like) return NULL;
    pl_value *top = PL_ADD(b, &pl_op_reduce_max, pl_spec(b, like, "{0}->{2}"), in[0]);
    const pl_node *s = pl_add_node(b, &pl_op_cross_entropy_sums, NULL, spec, 3,
                                   (pl_value *const[]){ in[0], in[1], top });
    if (!s) return NULL;
    const char *classes =
        pl_builder_fmt(b, "{3},{4},{2},{1}->{3}; classes=%lld",
                       (long long)like->sig->factor[pl_sig_find(like->sig, 'v')].size);
    return PL_ADD(b, &pl_op_cross_entropy_loss, pl_spec(b, like, classes), s->out[0], s->out[1],
                  top, in[1]);
}

const pl_op pl_op_cross_entropy_sums = {
    .name = "cross_entropy_sums",
    .sig = "...v,...,...->...,...",
    .form = "v:0 01234",
    .types = "f,i,f->F,F",
    .attrs = "smoothing=0",
    .infer = infer,
    .grad = grad,
    .flops_per_in = 3, /* sub, exp, sum */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 3, { 2, 4, 6 } }, { 2, { 2, 4 }, "i32", -1, 7 }, { 2, { 2, 4 } } },
          build },
        { "bvs,sb,sb->sb,sb",
          .in = { { 3, { 2, 5, 4 }, .lo = -9, .hi = 9 },
                  { 2, { 4, 2 }, "i64", 0, 5 },
                  { 2, { 4, 2 }, .lo = 8, .hi = 9 } },
          build },
        { "; smoothing=0.1",
          .in = { { 3, { 2, 4, 6 } }, { 2, { 2, 4 }, "i32", -1, 7 }, { 2, { 2, 4 } } }, build },
        { NULL, .in = { { 2, { 4, 7 }, "bf16" }, { 1, { 4 }, "i32", 0, 7 }, { 1, { 4 }, "bf16" } },
          build }),
};
