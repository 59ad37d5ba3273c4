/* reduce_prod: the product over the letters that the output lacks; by default over the last
 * dimension. These letters are whole: partial products do not combine by a sum. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_reduce_prod_grad, pl_spec(b, n, "{0},{1}->{0}"), n->in[0], dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)n, (void)err;
    for (int f = 0; f < sig->n_factors; f++)
        sig->factor[f].whole = !pl_sig_has(pl_sig_out(sig, 0), sig, f);
    return true;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    uint32_t outer = pl_walk_mask(n, 1), inner = pl_walk_mask(n, 0) & ~outer;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner);
    do {
        double product = 1;
        pl_walk_to(&i, &o);
        do product *= pl_type_get(n->in[0]->type, in[0], i.at[0]);
        while (pl_walk_next(&i));
        pl_type_put(n->out[0]->type, out[0], o.at[1], pl_elementwise_fit(n->out[0]->type, product));
    } while (pl_walk_next(&o));
}

const pl_op pl_op_reduce_prod = {
    .name = "reduce_prod",
    .sig = "...v->...",
    .types = "t",
    .infer = infer,
    .grad = grad,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, .lo = 0.5, .hi = 2 } } },
                            { "abn->n", .in = { { 3, { 2, 3, 6 } } } },
                            { "...->", .in = { { 2, { 4, 3 }, "i64", -3, 4 } } }),
};
