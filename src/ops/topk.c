/* topk: the k largest elements along letter e, largest first, and their indices (i32); of equal
 * ones the lower index comes first. "...e->...k,...k; k=2". e and k are whole. The gradient of the
 * values goes back to where they came from. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_topk_grad, pl_spec(b, n, "{2},{1}->{0}"), n->out[1], dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int64_t e = sig->factor[pl_sig_find(sig, 'e')].size,
            k = sig->factor[pl_sig_find(sig, 'k')].size;
    (void)n;
    return !e || k <= e ||
           pl_err_set(err, PL_EINPUT, "k=%lld of only %lld elements", (long long)k, (long long)e);
}

static double flops(const pl_share *s)
{
    int64_t whole;
    return (double)(pl_shape_count(&s->shape[0]) * pl_share_range(s, 'k', &whole).n);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->in[0]->type, ti = n->out[1]->type;
    int e = pl_sig_find(n->sig, 'e'), k = pl_sig_find(n->sig, 'k');
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 0) & pl_walk_mask(n, 1));
    do {
        for (int64_t j = 0; j < s->factor[k].n; j++) {
            int64_t best = -1;
            double top = 0;
            for (int64_t i = 0; i < s->factor[e].n; i++) {
                double x = pl_type_get(t, in[0], w.at[0] + i * w.stride[0][e]);
                bool taken = best >= 0 && !(x > top);
                for (int64_t m = 0; m < j && !taken; m++)
                    taken = pl_type_get(ti, out[1], w.at[2] + m * w.stride[2][k]) == (double)i;
                if (!taken) best = i, top = x;
            }
            pl_type_put(t, out[0], w.at[1] + j * w.stride[1][k], top);
            pl_type_put(ti, out[1], w.at[2] + j * w.stride[2][k], (double)best);
        }
    } while (pl_walk_next(&w));
}

const pl_op pl_op_topk = {
    .name = "topk",
    .sig = "...e->...k,...k",
    .whole = "ek",
    .types = "f->f,i",
    .infer = infer,
    .grad = grad,
    .flops = flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; k=2", .in = { { 3, { 2, 3, 6 } } } },
                            { "en->nk,nk; k=3", .in = { { 2, { 3, 4 } } } }),
};
