#include "ops/lib/elementwise.h"

#include "graph/walk.h"
#include "ops/list.h"

#include <string.h>

static bool is_same(const pl_operand *a, const pl_operand *b)
{
    bool same = a->rank == b->rank;
    for (int j = 0; same && j < a->rank; j++) {
        const pl_sig_dim *x = &a->dim[j], *y = &b->dim[j];
        same = x->n == y->n && x->window == y->window &&
               !memcmp(x->factor, y->factor, (size_t)x->n * sizeof x->factor[0]);
    }
    return same;
}

bool pl_elementwise_is_full(const pl_node *n, int i)
{
    return is_same(&n->sig->operand[i], pl_sig_out(n->sig, 0));
}

/* Has operand i every factor of the output? */
static bool has_all(const pl_sig *sig, int i)
{
    for (int f = 0; f < sig->n_factors; f++)
        if (pl_sig_has(pl_sig_out(sig, 0), sig, f) && !pl_sig_has(&sig->operand[i], sig, f))
            return false;
    return true;
}

bool pl_elementwise_infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)n;
    if (sig->n_windows) return pl_err_set(err, PL_EINPUT, "takes no windows");
    for (int f = 0; f < sig->n_factors; f++) {
        bool in = false;
        for (int i = 0; i < sig->n_in; i++) in |= pl_sig_has(&sig->operand[i], sig, f);
        if (!in || !pl_sig_has(pl_sig_out(sig, 0), sig, f))
            return pl_err_set(err, PL_EINPUT, "'%c' stands in %s only: sum or broadcast it first",
                              sig->factor[f].letter, in ? "the inputs" : "the output");
    }
    for (int i = 0; i < sig->n_in; i++)
        if (has_all(sig, i) && !is_same(&sig->operand[i], pl_sig_out(sig, 0)))
            return pl_err_set(err, PL_EINPUT, "input %d has the output's letters in another order",
                              i);
    return true;
}

void pl_elementwise_ref(const pl_share *s, const void *const in[], void *const out[],
                        double (*apply)(const pl_share *s, const double x[]))
{
    const pl_node *n = s->node;
    pl_walk w = pl_walk_new(s, pl_walk_mask(n, n->n_in));
    double x[PL_MAX_OPERANDS];
    do {
        for (int k = 0; k < n->n_in; k++) x[k] = pl_type_get(n->in[k]->type, in[k], w.at[k]);
        pl_type_put(n->out[0]->type, out[0], w.at[n->n_in], apply(s, x));
    } while (pl_walk_next(&w));
}

const char *pl_elementwise_spec(pl_builder *b, const pl_node *n, const char *pattern)
{
    bool own = n->spec[strspn(n->spec, " ")] && n->spec[strspn(n->spec, " ")] != ';';
    return own ? pl_spec(b, n, pattern) : pattern + strcspn(pattern, ";");
}

pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g)
{
    if (pl_elementwise_is_full(n, i)) return g;
    return PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, pl_builder_fmt(b, "{%d}->{%d}", n->n_in, i)),
                  g);
}
