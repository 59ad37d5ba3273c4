/* reshape: the same elements in the same memory order under another shape: "bs(hd)->bshd; h=2",
 * "(bs)h->bsh; b=4". Factors keep their order (else it is a transpose), so that a share of any of
 * them is in order too. A letter that only one side has is a dimension of 1, put in or taken out:
 * "bs->bus". */
#include "graph/op.h"
#include "ops/lib/move.h"
#include "ops/list.h"

#include <string.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_reshape, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

/* Factors that both sides have, in the order of operand o. */
static int list_factors(const pl_sig *sig, int o, int list[PL_MAX_FACTORS])
{
    int n = 0;
    const pl_operand *p = &sig->operand[o];
    for (int j = 0; j < p->rank; j++)
        for (int k = 0; k < p->dim[j].n; k++)
            if (pl_sig_has(&sig->operand[1 - o], sig, p->dim[j].factor[k]))
                list[n++] = p->dim[j].factor[k];
    return n;
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    int from[PL_MAX_FACTORS], to[PL_MAX_FACTORS];
    (void)n;
    int count = list_factors(sig, 0, from);
    list_factors(sig, 1, to); /* as many: no letter stands twice */
    for (int i = 0; i < count; i++)
        if (from[i] != to[i])
            return pl_err_set(
                err, PL_EINPUT,
                "the order of the factors differs: '%c' of the output stands where the "
                "input has '%c'; use transpose",
                sig->factor[to[i]].letter, sig->factor[from[i]].letter);
    for (int f = 0; f < sig->n_factors; f++) {
        pl_factor *x = &sig->factor[f];
        if (pl_sig_has(&sig->operand[0], sig, f) && pl_sig_has(&sig->operand[1], sig, f)) continue;
        if (!x->size) x->size = 1;
        if (x->size != 1)
            return pl_err_set(err, PL_EINPUT,
                              "'%c' is %lld and stands on one side only; use "
                              "reduce_sum or broadcast",
                              x->letter, (long long)x->size);
    }
    return true;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    int64_t bytes = pl_shape_count(&s->shape[0]) * pl_type_bytes(s->node->in[0]->type);
    if (in[0] != out[0]) memcpy(out[0], in[0], (size_t)bytes);
}

const pl_op pl_op_reshape = {
    .name = "reshape",
    .form = "1>1 01 0 1",
    .types = "t",
    .linear = "0",
    .view = true,
    .infer = infer,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "bs(hd)->bshd; h=2", .in = { { 3, { 2, 3, 8 } } } },
                            { "(bs)h->bsh; b=4", .in = { { 2, { 12, 5 } } } },
                            { "b(sh)d->(bs)(hd); s=3", .in = { { 3, { 2, 6, 4 } } } },
                            { "bus->bsw", .in = { { 3, { 2, 1, 6 } } } },
                            { "bshd->(bshd)", .in = { { 4, { 2, 2, 3, 2 }, "i64" } } }),
};
