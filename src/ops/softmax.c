/* softmax over v, the last dimension:
 *   y[..., v] = exp(scale x[..., v]) / sum_v exp(scale x[..., v])
 * causal=1: x is [..., q, v], and positions v > q count as minus infinity (an attention mask);
 * window=n then leaves each q the last n positions up to its own, q - n < v <= q (0: all).
 * Source: definition; the row maximum is subtracted first so that exp cannot overflow. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/lib/softmax.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1},{1}->{1}; scale=%.17g", pl_node_real(n, "scale", 0));
    dx[0] = PL_ADD(b, &pl_op_softmax_grad, pl_elementwise_spec(b, n, spec), n->out[0], dy[0]);
}

/* With a window there are no more queries than keys: a row without any would have no answer. */
static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const pl_operand *x = &sig->operand[0];
    int64_t window = pl_node_int(n, "window", 0);
    bool causal = pl_node_int(n, "causal", 0);
    PL_TRY(pl_softmax_infer(n, sig, err));
    if (window < 0 || (window && !causal))
        return pl_err_set(err, PL_EINPUT, "window=%lld is for causal=1, and not below 0",
                          (long long)window);
    if (causal && (x->rank < 2 || x->dim[x->rank - 2].n != 1))
        return pl_err_set(err, PL_EINPUT, "causal=1 needs one letter, of the queries, before 'v'");
    if (!window) return true;
    int64_t q = sig->factor[x->dim[x->rank - 2].factor[0]].size,
            v = sig->factor[pl_sig_find(sig, 'v')].size;
    return q <= v || pl_err_set(err, PL_EINPUT,
                                "window=%lld for %lld queries needs as many keys, "
                                "not %lld",
                                (long long)window, (long long)q, (long long)v);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    double scale = pl_node_real(n, "scale", 0);
    bool causal = pl_node_int(n, "causal", 0);
    int64_t window = pl_node_int(n, "window", 0);
    int rank = s->shape[0].rank;
    int64_t v = s->shape[0].dim[rank - 1], rows = pl_shape_count(&s->shape[0]) / v;
    int64_t q = causal ? s->shape[0].dim[rank - 2] : 1;
    int64_t q0 = causal ? s->factor[n->sig->operand[0].dim[rank - 2].factor[0]].lo : 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t seen = causal && q0 + r % q + 1 < v ? q0 + r % q + 1 : v;
        int64_t first = window && seen > window ? seen - window : 0;
        double top = -INFINITY, sum = 0;
        for (int64_t i = first; i < seen; i++)
            top = fmax(top, scale * pl_type_get(t, in[0], r * v + i));
        for (int64_t i = first; i < seen; i++)
            sum += exp(scale * pl_type_get(t, in[0], r * v + i) - top);
        for (int64_t i = 0; i < v; i++) {
            bool is_live = i >= first && i < seen;
            double e = is_live ? exp(scale * pl_type_get(t, in[0], r * v + i) - top) : 0;
            pl_type_put(t, out[0], r * v + i, e / sum);
        }
    }
}

const pl_op pl_op_softmax = {
    .name = "softmax",
    .sig = "...v->...v",
    .whole = "v",
    .attrs = "scale=1 causal=0 window=0",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .flops_per_out = 5, /* max, sub, exp, sum, div */
    .work_per_out = 50,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } } } },
                            { "; scale=0.5 causal=1", .in = { { 3, { 2, 6, 6 } } } },
                            { "; scale=0.5 causal=1 window=3", .in = { { 3, { 2, 6, 6 } } } },
                            { "b(hq)v->b(hq)v; h=2", .in = { { 3, { 2, 6, 4 } } } }),
};
