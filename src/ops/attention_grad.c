/* attention_grad(q, k, v, y, lse, dy): dq, dk and dv. Probabilities are computed again from lse:
 *   p  = exp(s - lse)             s the capped scores, lse as attention gave it
 *   ds = p (m dp - dy y)          dp = dy v; m: what dropout makes of a 1
 *   dq = scale sum_k ds k,  dk = scale sum_q ds q,  dv = sum_q m p dy
 * ds times 1 - (s / cap)^2 where there is a cap. An output lacks letters of the others, so
 * splitting queries leaves partial sums of dk and dv, and splitting keys of dq.
 * Source: Dao, FlashAttention-2, 2023, algorithm 2. */
#include "graph/op.h"
#include "ops/lib/attention.h"
#include "ops/list.h"

#include <math.h>

enum { Q, K, V, Y, LSE, DY, SEED };

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    return pl_attention_infer(n, sig, "QKVYLY", "QKV", err);
}

/* The scores again, and four products: 2.5 of the forward pass. */
static double flops_of_pairs(const pl_share *s, const pl_attention *a, double pairs)
{
    return pairs * (6 * (double)s->factor[a->d].n + 4 * (double)s->factor[a->e].n);
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

/* A share's sums so far, in doubles; dq is that of the row at hand. */
typedef struct sums {
    double *dq, *dk, *dv;
} sums;

static double dot(const pl_walk *row, const void *const in[], int64_t n, int o, int with,
                  int64_t at)
{
    double sum = 0;
    const pl_type t = row->share->node->in[Q]->type;
    for (int64_t i = 0; i < n; i++)
        sum += pl_type_get(t, in[o], row->at[o] + i) * pl_type_get(t, in[with], at + i);
    return sum;
}

/* What key `key` adds. `delta` is dy y, `kept` what dropout makes of a 1. */
static void add_key(const pl_attention *a, const pl_walk *row, const void *const in[], int64_t key,
                    double delta, double kept, sums *sum)
{
    const pl_share *s = row->share;
    const pl_node *n = s->node;
    const pl_type t = n->in[Q]->type;
    const int64_t k = row->at[K] + key * row->stride[K][a->k],
                  v = row->at[V] + key * row->stride[V][a->k], e = s->factor[a->e].n;
    const double score = pl_attention_score(a, row, in, key);
    const double p = exp(score - pl_type_get(n->in[LSE]->type, in[LSE], row->at[LSE]));
    double ds = p * (kept * dot(row, in, e, DY, V, v) - delta) * a->scale;
    if (a->cap > 0) ds *= 1 - pow(score / a->cap, 2);
    for (int64_t i = 0; i < s->factor[a->d].n; i++) {
        sum->dq[i] += ds * pl_type_get(t, in[K], k + i);
        sum->dk[k + i] += ds * pl_type_get(t, in[Q], row->at[Q] + i);
    }
    for (int64_t i = 0; i < e; i++)
        sum->dv[v + i] += kept * p * pl_type_get(t, in[DY], row->at[DY] + i);
}

static void put(pl_type t, void *out, int64_t at, int64_t n, const double x[])
{
    for (int64_t i = 0; i < n; i++) pl_type_put(t, out, at + i, x[i]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    const pl_attention a = pl_attention_of(n);
    const pl_type t = n->in[Q]->type;
    const int64_t d = s->factor[a.d].n, n_k = pl_shape_count(&s->shape[K]),
                  n_v = pl_shape_count(&s->shape[V]);
    pl_arena *tmp = pl_arena_new("gradient of attention");
    sums sum = { PL_NEW_N(tmp, double, d), PL_NEW_N(tmp, double, n_k), PL_NEW_N(tmp, double, n_v) };
    pl_attention_drop drop = pl_attention_drops(&a, s, n->n_in > SEED ? in[SEED] : NULL);
    pl_walk row = pl_walk_new(s, pl_walk_mask(n, LSE));
    do {
        const pl_range seen = pl_attention_seen(&a, &row);
        const double delta = dot(&row, in, s->factor[a.e].n, DY, Y, row.at[Y]);
        for (int64_t i = 0; i < d; i++) sum.dq[i] = 0;
        for (int64_t i = seen.lo; i < seen.lo + seen.n; i++)
            add_key(&a, &row, in, i, delta, pl_attention_kept(&a, &drop, &row, i), &sum);
        put(t, out[0], row.at[n->n_in], d, sum.dq);
    } while (pl_walk_next(&row));
    put(t, out[1], 0, n_k, sum.dk);
    put(t, out[2], 0, n_v, sum.dv);
    pl_arena_free(tmp);
}

const pl_op pl_op_attention_grad = {
    .name = "attention_grad",
    .whole = "de",
    .linear = "5",
    .types = "ffffFfi>fff",
    .attrs = PL_ATTENTION_ATTRS,
    .ordinal_attr = "stream",
    .infer = infer,
    .flops = count_flops,
    .most_flops = count_most,
    .multiplies = true,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "bqhd,bkhd,bkhe,bqhe,bhq,bqhe->bqhd,bkhd,bkhe; scale=0.5 causal=1 window=3 cap=2",
          .in = { { 4, { 2, 4, 2, 3 } },
                  { 4, { 2, 6, 2, 3 } },
                  { 4, { 2, 6, 2, 2 } },
                  { 4, { 2, 4, 2, 2 } },
                  { 3, { 2, 2, 4 }, .lo = 1, .hi = 3 },
                  { 4, { 2, 4, 2, 2 } } } },
        { "b(cq)hd,bkhd,bkhe,b(cq)he,bh(cq),b(cq)he->b(cq)hd,bkhd,bkhe; c=4 causal=1",
          .in = { { 4, { 1, 8, 2, 3 } },
                  { 4, { 1, 8, 2, 3 } },
                  { 4, { 1, 8, 2, 2 } },
                  { 4, { 1, 8, 2, 2 } },
                  { 3, { 1, 2, 8 }, .lo = 1, .hi = 3 },
                  { 4, { 1, 8, 2, 2 } } } },
        { "bqgrd,bkgd,bkge,bqgre,bgrq,bqgre,->bqgrd,bkgd,bkge; p=0.3 stream=2",
          .in = { { 5, { 1, 4, 2, 4, 2 } },
                  { 4, { 1, 5, 2, 2 } },
                  { 4, { 1, 5, 2, 2 } },
                  { 5, { 1, 4, 2, 4, 2 } },
                  { 4, { 1, 2, 4, 4 }, .lo = 1, .hi = 3 },
                  { 5, { 1, 4, 2, 4, 2 } },
                  { 0, { 0 }, "i64", .hi = 99 } } }),
};
