/* attention(q, k, v): y = softmax_k(cap tanh(scale (q k) / cap)) v of every head, without a tensor
 * of its scores; and lse, the logarithm of each row's sum of exponentials, for the gradient.
 *
 *   bqhd,bkhd,bkhe->bqhe,bhq         a key head for each head
 *   bqgrd,bkgd,bkge->bqgre,bgrq      r heads of queries read one of keys
 *
 *   b(cq)hd,bkhd,bkhe->b(cq)he,bh(cq)   queries in c chunks, one after the other
 *
 * The letters q, k, d and e have to be called so; others are rows and heads, in any place but the
 * last. What stands before q in its dimension, where they are causal, is the chunks of the queries:
 * split by q a device has some of each chunk, so that all see about as many keys, as in striped
 * attention (Brandon et al., 2023).
 *
 * causal and window are those of softmax. cap=0: scores are not capped. With p there is a seed as a
 * last input, and probabilities are dropped as dropout would drop a tensor with the letters of lse
 * and then k: the same numbers from the same stream.
 * Source: Dao et al., FlashAttention, NeurIPS 2022; Ainslie et al., GQA, 2023 (heads in groups);
 * Gemma 2 (cap). */
#include "graph/op.h"
#include "ops/lib/attention.h"
#include "ops/list.h"

#include <math.h>

enum { Q, K, V, SEED };

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    return pl_attention_infer(n, sig, "QKV", "YL", err);
}

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    if (!dy[0] || dy[1]) {
        pl_err_set(&b->err, PL_EUNSUPPORTED, "node '%s': attention's lse is not differentiable",
                   n->name);
        return;
    }
    const bool drops = n->n_in > SEED;
    const char *spec = pl_builder_fmt(b,
                                      drops ? "{0},{1},{2},{4},{5},{4},{3}->{0},{1},{2}; %s"
                                            : "{0},{1},{2},{3},{4},{3}->{0},{1},{2}; %s",
                                      pl_attention_attrs(b, n));
    pl_value *const in[] = {
        n->in[Q], n->in[K], n->in[V], n->out[0], n->out[1], dy[0], drops ? n->in[SEED] : NULL
    };
    const pl_node *g =
        pl_add_node(b, &pl_op_attention_grad, NULL, pl_spec(b, n, spec), 6 + drops, in);
    for (int i = 0; g && i < 3; i++) dx[i] = g->out[i];
}

static double flops_of_pairs(const pl_share *s, const pl_attention *a, double pairs)
{
    return 2 * pairs * (double)(s->factor[a->d].n + s->factor[a->e].n);
}

static double count_flops(const pl_share *s)
{
    const pl_attention a = pl_attention_of(s->node);
    return flops_of_pairs(s, &a, pl_attention_pairs(&a, s));
}

static double count_most(const pl_share *s)
{
    const pl_attention a = pl_attention_of(s->node);
    return flops_of_pairs(s, &a, pl_attention_most_pairs(&a, s));
}

/* From the scores of a row to its probabilities; returns lse. */
static double find_probabilities(pl_range seen, double p[])
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = seen.lo; i < seen.lo + seen.n; i++) top = fmax(top, p[i]);
    for (int64_t i = seen.lo; i < seen.lo + seen.n; i++) sum += p[i] = exp(p[i] - top);
    for (int64_t i = seen.lo; i < seen.lo + seen.n; i++) p[i] /= sum;
    return top + log(sum);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_attention a = pl_attention_of(n);
    const pl_type t = n->in[Q]->type;
    pl_arena *tmp = pl_arena_new("a row of scores");
    double *p = PL_NEW_N(tmp, double, s->factor[a.k].n);
    pl_attention_drop drop = pl_attention_drops(&a, s, n->n_in > SEED ? in[SEED] : NULL);
    pl_walk row = pl_walk_new(s, pl_walk_mask(n, a.lse));
    do {
        const pl_range seen = pl_attention_seen(&a, &row);
        for (int64_t i = seen.lo; i < seen.lo + seen.n; i++)
            p[i] = pl_attention_score(&a, &row, in, i);
        const double lse = find_probabilities(seen, p);
        for (int64_t i = seen.lo; i < seen.lo + seen.n; i++)
            p[i] *= pl_attention_kept(&a, &drop, &row, i);
        for (int64_t c = 0; c < s->factor[a.e].n; c++) {
            double sum = 0;
            for (int64_t i = seen.lo; i < seen.lo + seen.n; i++)
                sum += p[i] * pl_type_get(t, in[V], row.at[V] + i * row.stride[V][a.k] + c);
            pl_type_put(t, out[0], row.at[n->n_in] + c, sum);
        }
        pl_type_put(n->out[1]->type, out[1], row.at[a.lse], lse);
    } while (pl_walk_next(&row));
    pl_arena_free(tmp);
}

/* y alone, of which there is a gradient. */
static pl_value *build(pl_builder *b, const char *spec, pl_value *const in[])
{
    return pl_add_value(b, &pl_op_attention, NULL, spec, in[SEED] ? 4 : 3, in);
}

#define PLAIN "bqhd,bkhd,bkhe->bqhe,bhq"
#define GROUPED "bqgrd,bkgd,bkge->bqgre,bgrq"
#define SEEDED "bqhd,bkhd,bkhe,->bqhe,bhq"

const pl_op pl_op_attention = {
    .name = "attention",
    .whole = "kde",
    .types = "fffi>fF",
    .attrs = PL_ATTENTION_ATTRS,
    .ordinal_attr = "stream",
    .infer = infer,
    .grad = grad,
    .flops = count_flops,
    .most_flops = count_most,
    .multiplies = true,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { PLAIN "; scale=0.5",
          .in = { { 4, { 2, 4, 2, 3 } }, { 4, { 2, 5, 2, 3 } }, { 4, { 2, 5, 2, 4 } } }, build },
        { GROUPED "; scale=2 causal=1 window=3 cap=1.5",
          .in = { { 5, { 1, 6, 2, 4, 2 } }, { 4, { 1, 6, 2, 2 } }, { 4, { 1, 6, 2, 2 } } }, build },
        { SEEDED "; causal=1 p=0.4 stream=3",
          .in = { { 4, { 2, 5, 2, 2 } },
                  { 4, { 2, 4, 2, 2 } },
                  { 4, { 2, 4, 2, 2 } },
                  { 0, { 0 }, "i64", .hi = 99 } },
          build },
        { "b(cq)hd,bkhd,bkhe->b(cq)he,bh(cq); c=4 causal=1",
          .in = { { 4, { 1, 8, 2, 2 } }, { 4, { 1, 8, 2, 2 } }, { 4, { 1, 8, 2, 2 } } }, build },
        { "b(cq)grd,bkgd,bkge->b(cq)gre,bgr(cq); c=2 causal=1 window=3",
          .in = { { 5, { 1, 6, 2, 2, 2 } }, { 4, { 1, 7, 2, 2 } }, { 4, { 1, 7, 2, 2 } } }, build },
        { "(bq)hd,(bk)hd,(bk)he->(bq)he,h(bq); b=2",
          .in = { { 3, { 6, 2, 2 } }, { 3, { 8, 2, 2 } }, { 3, { 8, 2, 2 } } }, build },
        { "bq(hd),bk(hd),bk(he)->bq(he),bhq; h=2 causal=1",
          .in = { { 3, { 2, 4, 6 }, "bf16" },
                  { 3, { 2, 4, 6 }, "bf16" },
                  { 3, { 2, 4, 4 }, "bf16" } },
          build }),
};
