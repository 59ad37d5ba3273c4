/* rope: rotary position embedding. The halves of a head's d numbers are pairs (x[i], x[i + d/2]),
 * and at position s pair i turns by the angle s w[i], where w[i] = base^(-2i/d):
 *   y[i]       = scale (x[i] cos - x[i + d/2] sin)
 *   y[i + d/2] = scale (x[i + d/2] cos + x[i] sin)
 * inverse=1 turns back, which is the gradient too. s counts positions in the whole sequence, so it
 * may be split; it is the last letter of its dimension, "s" or "(bs)". Letters other than s and d
 * are batch and heads, in any order.
 *   part=96         only the first 96 of d turn, as if they were all; the others pass
 *   factor=8        w[i] / 8; of a list "1,1.5,4" pair i has the i-th
 *   scaling=llama3  so only where a pair turns less than `low` times within the first `original`
 *                   positions; not at all where more than `high` times; between, in part
 *   scaling=yarn    the same by the numbers of the pairs that turn `low` and `high` times, which
 *                   are rounded outwards with truncate=1
 * Source: Su et al., RoFormer, 2021; pairs are halves, as in GPT-NeoX and the published LLaMA
 * checkpoints, not neighbours; ops/lib/rope.c for w. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/rope.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

static int n_factors(const pl_node *n)
{
    int count = 1;
    for (int i = 0; i < n->n_attrs; i++)
        for (const char *at = n->attr[i].text; !strcmp(n->attr[i].name, "factor") && *at; at++)
            count += *at == ',';
    return count;
}

static bool check_attrs(const pl_node *n, int64_t d, pl_err *err)
{
    double base = pl_node_real(n, "base", 0), original = pl_node_real(n, "original", 0),
           low = pl_node_real(n, "low", 0), high = pl_node_real(n, "high", 0);
    int64_t part = pl_node_int(n, "part", 0);
    if (d % 2)
        return pl_err_set(err, PL_EINPUT, "'d' is %lld: pairs need an even number", (long long)d);
    if (part % 2 || part < 0 || part > d)
        return pl_err_set(err, PL_EINPUT, "part=%lld is no even number of 'd', %lld",
                          (long long)part, (long long)d);
    if (!(base > 0)) return pl_err_set(err, PL_EINPUT, "base=%g has to be above 0", base);
    for (int i = 0; i < n_factors(n); i++)
        if (!(pl_node_real(n, "factor", i) > 0))
            return pl_err_set(err, PL_EINPUT, "factor=%g has to be above 0",
                              pl_node_real(n, "factor", i));
    if (pl_node_is(n, "scaling", "all")) return true;
    if (!pl_node_is(n, "scaling", "llama3") && !pl_node_is(n, "scaling", "yarn"))
        return pl_err_set(err, PL_EINPUT, "scaling=%s is none of all, llama3, yarn",
                          pl_node_text(n, "scaling"));
    return (original > 0 && low > 0 && high > low && base > 1) ||
           pl_err_set(
               err, PL_EINPUT,
               "scaling=%s needs original=%g above 0, base=%g above 1 and turns low=%g above "
               "0 and below high=%g",
               pl_node_text(n, "scaling"), original, base, low, high);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int seq = pl_sig_find(sig, 's');
    for (int j = 0; j < sig->operand[0].rank; j++) /* the output is laid out like it */
        for (int k = 0; k + 1 < sig->operand[0].dim[j].n; k++)
            if (sig->operand[0].dim[j].factor[k] == seq)
                return pl_err_set(err, PL_EINPUT, "'s' has to be the last letter of its dimension");
    return check_attrs(n, sig->factor[pl_sig_find(sig, 'd')].size, err);
}

/* The same attributes, turned the other way; sizes of letters stand in the signature. */
static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; inverse=%d", !pl_node_int(n, "inverse", 0));
    for (int i = 0; i < n->n_attrs; i++)
        if (n->attr[i].name[1] && strcmp(n->attr[i].name, "inverse"))
            spec = pl_builder_fmt(b, "%s %s=%s", spec, n->attr[i].name, n->attr[i].text);
    dx[0] = PL_ADD(b, &pl_op_rope, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int seq = pl_sig_find(n->sig, 's'), d = pl_sig_find(n->sig, 'd');
    int64_t width = s->factor[d].n, half = pl_rope_pairs(n, width);
    double scale = pl_node_real(n, "scale", 0), sign = pl_node_int(n, "inverse", 0) ? -1 : 1;
    for (int64_t i = 0; i < width - half; i++) {
        double angle = i < half ? sign * pl_rope_angle(n, i, half) : 0;
        int64_t own = i < half ? i : i + half; /* what comes after the pairs passes */
        pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0) & ~(1u << d));
        do {
            double by = angle * (double)(s->factor[seq].lo + w.index[seq]);
            int64_t x = w.at[0] + own * w.stride[0][d], y = w.at[1] + own * w.stride[1][d];
            double low = pl_type_get(t, in[0], x);
            if (i >= half) {
                pl_type_put(t, out[0], y, low);
                continue;
            }
            double high = pl_type_get(t, in[0], x + half * w.stride[0][d]);
            pl_type_put(t, out[0], y, scale * (low * cos(by) - high * sin(by)));
            pl_type_put(t, out[0], y + half * w.stride[1][d],
                        scale * (high * cos(by) + low * sin(by)));
        } while (pl_walk_next(&w));
    }
}

const pl_op pl_op_rope = {
    .name = "rope",
    .sig = "...sd->...sd",
    .form = "s:01 d:01 01",
    .whole = "d",
    .linear = "0",
    .attrs = "base=10000 inverse=0 part=0 scale=1 factor=1 scaling=all low=1 high=4 original=0 "
             "truncate=1",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .flops_per_out = 3, /* two products and a sum per number */
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 3, { 4, 3, 6 } } } },
        { "bshd->bshd; base=100", .in = { { 4, { 2, 4, 3, 4 } } } },
        { "bsgrd->bsgrd; base=500000 inverse=1", .in = { { 5, { 2, 3, 2, 2, 4 } } } },
        { "(bs)(hd)->(bs)(hd); h=2 b=2", .in = { { 2, { 6, 8 } } } },
        { "sd->sd", .in = { { 2, { 4, 8 }, "bf16" } } },
        { "; part=4 scale=1.5 factor=2,3", .in = { { 3, { 2, 4, 6 } } } },
        { "sd->sd; base=20 factor=4 scaling=llama3 original=9", .in = { { 2, { 5, 8 } } } },
        { "shd->shd; base=20 factor=4 scaling=yarn high=3 original=60 truncate=0 scale=1.1",
          .in = { { 3, { 5, 2, 8 } } } }),
};
