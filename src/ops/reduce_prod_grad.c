/* reduce_prod_grad: dx = dy times the product of the other elements of the row. One zero in a row
 * leaves a gradient to it alone, two leave none. The row's letters, those that dy lacks, are
 * whole. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)n, (void)err;
    for (int f = 0; f < sig->n_factors; f++)
        sig->factor[f].whole = !pl_sig_has(&sig->operand[1], sig, f);
    return true;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->in[0]->type;
    uint32_t outer = pl_walk_mask(n, 1), inner = pl_walk_mask(n, 0) & ~outer;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner);
    do {
        double product = pl_type_get(t, in[1], o.at[1]); /* dy and all elements but zeros */
        int64_t zeros = 0;
        pl_walk_to(&i, &o);
        do {
            double x = pl_type_get(t, in[0], i.at[0]);
            if (x < 0 || x > 0 || x != x)
                product *= x;
            else
                zeros++;
        } while (pl_walk_next(&i));
        do {
            double x = pl_type_get(t, in[0], i.at[0]);
            bool zero = !(x < 0 || x > 0 || x != x);
            pl_type_put(t, out[0], i.at[2], zeros == zero ? product / (zero ? 1 : x) : 0);
        } while (pl_walk_next(&i));
    } while (pl_walk_next(&o));
}

const pl_op pl_op_reduce_prod_grad = {
    .name = "reduce_prod_grad",
    .sig = "...v,...->...v",
    .form = "02 012",
    .linear = "1",
    .infer = infer,
    .flops_per_in = 3,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 }, { 1, { 4 } } } },
                    { "abn,n->abn", .in = { { 3, { 2, 3, 6 } }, { 1, { 6 } } } },
                    { "...,->...", .in = { { 2, { 4, 3 }, "bf16" }, { 0, .type = "bf16" } } }),
};
