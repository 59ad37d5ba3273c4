/* rope: rotary position embedding. The halves of a head's d numbers are pairs (x[i], x[i + d/2]),
 * and at position s pair i turns by the angle s base^(-2i/d):
 *   y[i]       = x[i] cos - x[i + d/2] sin
 *   y[i + d/2] = x[i + d/2] cos + x[i] sin
 * inverse=1 turns back, which is the gradient too. s counts positions in the whole sequence, so it
 * may be split; it is the last letter of its dimension, "s" or "(bs)". Letters other than s and d
 * are batch and heads, in any order.
 * Source: Su et al., RoFormer, 2021; pairs are halves, as in GPT-NeoX and the published LLaMA
 * checkpoints, not neighbours. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

#include <math.h>

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int seq = pl_sig_find(sig, 's');
    for (int j = 0; j < sig->operand[0].rank; j++) /* the output is laid out like it */
        for (int k = 0; k + 1 < sig->operand[0].dim[j].n; k++)
            if (sig->operand[0].dim[j].factor[k] == seq)
                return pl_err_set(err, PL_EINPUT, "'s' has to be the last letter of its dimension");
    int64_t d = sig->factor[pl_sig_find(sig, 'd')].size;
    double base = pl_node_real(n, "base", 0);
    if (d % 2)
        return pl_err_set(err, PL_EINPUT, "'d' is %lld: pairs need an even number", (long long)d);
    return base > 0 || pl_err_set(err, PL_EINPUT, "base=%g has to be above 0", base);
}

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; base=%.17g inverse=%d",
                                      pl_node_real(n, "base", 0), !pl_node_int(n, "inverse", 0));
    dx[0] = PL_ADD(b, &pl_op_rope, pl_spec(b, n, spec), dy[0]);
}

static double flops(const pl_share *s)
{
    return 3.0 * (double)pl_shape_count(&s->out[0]); /* two products and a sum per number */
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int seq = pl_sig_find(n->sig, 's'), d = pl_sig_find(n->sig, 'd');
    int64_t half = s->factor[d].n / 2;
    double base = pl_node_real(n, "base", 0), sign = pl_node_int(n, "inverse", 0) ? -1 : 1;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0) & ~(1u << d));
    do {
        double position = (double)(s->factor[seq].lo + w.index[seq]);
        for (int64_t i = 0; i < half; i++) {
            double angle = sign * position * pow(base, -(double)i / (double)half);
            int64_t x = w.at[0] + i * w.stride[0][d], y = w.at[1] + i * w.stride[1][d];
            double low = pl_type_get(t, in[0], x);
            double high = pl_type_get(t, in[0], x + half * w.stride[0][d]);
            pl_type_put(t, out[0], y, low * cos(angle) - high * sin(angle));
            pl_type_put(t, out[0], y + half * w.stride[1][d], high * cos(angle) + low * sin(angle));
        }
    } while (pl_walk_next(&w));
}

const pl_op pl_op_rope = {
    .name = "rope",
    .sig = "...sd->...sd",
    .form = "s:01 d:01 01",
    .whole = "d",
    .linear = "0",
    .attrs = "base=10000 inverse=0",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 3, { 4, 3, 6 } } } },
            { "bshd->bshd; base=100", .in = { { 4, { 2, 4, 3, 4 } } } },
            { "bsgrd->bsgrd; base=500000 inverse=1", .in = { { 5, { 2, 3, 2, 2, 4 } } } },
            { "(bs)(hd)->(bs)(hd); h=2 b=2", .in = { { 2, { 6, 8 } } } },
            { "sd->sd", .in = { { 2, { 4, 8 }, "bf16" } } },
            { 0 },
        },
};
