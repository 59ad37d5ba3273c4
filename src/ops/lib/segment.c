#include "ops/lib/segment.h"

#include "ops/list.h"

#include <string.h>

pl_range pl_segment_rows(const pl_walk *w, const void *const in[], int begin, int64_t *whole)
{
    const pl_node *n = w->share->node;
    const pl_range rows = w->share->factor[pl_sig_find(n->sig, 'n')];
    const pl_type type = n->in[begin]->type;
    const int64_t from = (int64_t)pl_type_get(type, in[begin], w->at[begin]),
                  to = (int64_t)pl_type_get(type, in[begin + 1], w->at[begin + 1]),
                  lo = from > rows.lo ? from - rows.lo : 0,
                  hi = to - rows.lo < rows.n ? to - rows.lo : rows.n;
    *whole = to > from ? to - from : 0;
    return (pl_range){ lo, hi > lo ? hi - lo : 0 };
}

int64_t pl_segment_step(const pl_walk *w, int operand)
{
    return w->stride[operand][pl_sig_find(w->share->node->sig, 'n')];
}

/* -- nodes ------------------------------------------------------------------------------------- */

const char *const pl_bag_names[] = { "sum", "mean", "max" };

pl_value *pl_bag_ends(pl_builder *b, pl_value *offsets, int64_t n)
{
    if (!offsets || offsets->shape.rank != 1) return NULL;
    const int64_t bags = offsets->shape.dim[0];
    const char *type = pl_type_name(offsets->type);
    if (bags == 1)
        return pl_add_value(b, &pl_op_fill, NULL,
                            pl_builder_fmt(b, "->b; b=1 value=%lld to=%s", (long long)n, type), 0,
                            NULL);
    pl_value *next = PL_ADD(b, &pl_op_slice,
                            pl_builder_fmt(b, "v->u; at=1 u=%lld", (long long)bags - 1), offsets);
    return PL_ADD(b, &pl_op_pad, pl_builder_fmt(b, "u->v; hi=1 value=%lld", (long long)n), next);
}

pl_value *pl_bag_reduce(pl_builder *b, pl_bag how, pl_value *x, pl_value *begin, pl_value *end)
{
    if (how == PL_BAG_MAX) return PL_ADD(b, &pl_op_segment_max, NULL, x, begin, end);
    return PL_ADD(b, &pl_op_segment_sum, pl_builder_fmt(b, "; mean=%d", how == PL_BAG_MEAN), x,
                  begin, end);
}
