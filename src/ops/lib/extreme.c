#include "ops/lib/extreme.h"

#include "ops/list.h"

void pl_extreme_grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *to = pl_builder_fmt(b, "{0}->{0}; to=%s", pl_type_name(n->in[0]->type));
    const char *row = pl_spec(b, n, "{0},{1}->{0}");
    pl_value *same = PL_ADD(b, &pl_op_equal, row, n->in[0], n->out[0]);
    same = PL_ADD(b, &pl_op_cast, pl_spec(b, n, to), same);
    pl_value *count = PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, "{0}->{1}"), same);
    pl_value *each = PL_ADD(b, &pl_op_div, pl_spec(b, n, "{1},{1}->{1}"), dy[0], count);
    dx[0] = PL_ADD(b, &pl_op_mul, row, same, each);
}
