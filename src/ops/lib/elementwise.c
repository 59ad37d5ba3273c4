#include "ops/lib/elementwise.h"

#include "graph/walk.h"
#include "ops/list.h"

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

pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g)
{
    static const char *const spec[] = { "{1}->{0}", "{2}->{0}", "{2}->{1}", "{3}->{0}", "{3}->{1}",
                                        "{3}->{2}" };
    static const int first[] = { 0, 0, 1, 3 };
    if (n->in[i]->shape.rank == n->out[0]->shape.rank) return g;
    return PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, spec[first[n->n_in] + i]), g);
}
