/* trilu: the upper triangle of q by k, y = x where k - q >= diagonal, else 0; with upper=0 the
 * lower one, where k - q <= diagonal. Positions are those in the whole, so that both may be split;
 * each is a dimension of its own.
 * The gradient is the same triangle of dy. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/elementwise.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; upper=%lld diagonal=%lld",
                                      (long long)pl_node_int(n, "upper", 0),
                                      (long long)pl_node_int(n, "diagonal", 0));
    dx[0] = PL_ADD(b, &pl_op_trilu, pl_elementwise_spec(b, n, spec), dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    const pl_operand *x = &sig->operand[0];
    (void)n;
    for (int j = 0; j < x->rank; j++)
        for (int k = 0; x->dim[j].n > 1 && k < x->dim[j].n; k++) {
            char letter = sig->factor[x->dim[j].factor[k]].letter;
            if (letter == 'q' || letter == 'k')
                return pl_err_set(err, PL_EINPUT, "'%c' shares a dimension with another letter",
                                  letter);
        }
    return true;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    pl_type t = n->out[0]->type;
    int q = pl_sig_find(n->sig, 'q'), k = pl_sig_find(n->sig, 'k');
    bool upper = pl_node_int(n, "upper", 0);
    int64_t diagonal = pl_node_int(n, "diagonal", 0), lo = s->factor[k].lo - s->factor[q].lo;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, 1));
    do {
        int64_t at = lo + w.index[k] - w.index[q];
        if (upper ? at >= diagonal : at <= diagonal)
            pl_move_element(t, out[0], w.at[1], in[0], w.at[0]);
        else
            pl_move_zero(t, (char *)out[0] + w.at[1] * pl_type_bytes(t), 1);
    } while (pl_walk_next(&w));
}

const pl_op pl_op_trilu = {
    .name = "trilu",
    .sig = "...qk->...qk",
    .form = "q:01 k:01 01",
    .types = "t",
    .linear = "0",
    .attrs = "upper=1 diagonal=0",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 3, { 4, 4, 5 } } } },
                            { "; upper=0 diagonal=-1", .in = { { 2, { 5, 4 } } } },
                            { "qkn->qkn; diagonal=2", .in = { { 3, { 3, 5, 4 }, "u8" } } }),
};
