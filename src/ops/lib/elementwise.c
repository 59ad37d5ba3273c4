#include "ops/lib/elementwise.h"

#include "graph/walk.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

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

double pl_elementwise_fit(const pl_share *s, double y)
{
    static const struct {
        double lo, end;
    } range[PL_N_TYPES] = {
        [PL_I32] = { -0x1p31, 0x1p31 }, [PL_I64] = { -0x1p63, 0x1p63 }, [PL_U8] = { 0, 0x1p8 }
    };
    pl_type t = s->node->out[0]->type;
    if (pl_type_is_float(t)) return y;
    return trunc(y) >= range[t].lo && y < range[t].end ? trunc(y) : 0;
}

const char *pl_elementwise_spec(pl_builder *b, const pl_node *n, const char *pattern)
{
    bool own = n->spec[strspn(n->spec, " ")] && n->spec[strspn(n->spec, " ")] != ';';
    return own ? pl_spec(b, n, pattern) : pattern + strcspn(pattern, ";");
}

pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g)
{
    if (pl_share_same_index(n, i, n->n_in)) return g;
    return PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, pl_builder_fmt(b, "{%d}->{%d}", n->n_in, i)),
                  g);
}

void pl_elementwise_flat(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    (void)b, (void)n, (void)dy, (void)dx;
}
