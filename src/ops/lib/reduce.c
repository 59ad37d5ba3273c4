#include "ops/lib/reduce.h"

#include "ops/lib/element.h"
#include "ops/list.h"

void pl_reduce_ref(const pl_share *s, const void *const in[], void *const out[], double start,
                   double (*add)(double so_far, double x))
{
    uint32_t outer = pl_walk_mask(s->node, 1), inner = pl_walk_mask(s->node, 0) & ~outer;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner);
    do {
        double y = start;
        pl_walk_to(&i, &o);
        do y = add(y, pl_element_get(&i, in, 0));
        while (pl_walk_next(&i));
        pl_element_put(&o, out, 0, y);
    } while (pl_walk_next(&o));
}

void pl_reduce_grad_extreme(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *to = pl_builder_fmt(b, "{0}->{0}; to=%s", pl_type_name(n->in[0]->type));
    const char *row = pl_spec(b, n, "{0},{1}->{0}");
    pl_value *same = PL_ADD(b, &pl_op_equal, row, n->in[0], n->out[0]);
    same = PL_ADD(b, &pl_op_cast, pl_spec(b, n, to), same);
    pl_value *count = PL_ADD(b, &pl_op_reduce_sum, pl_spec(b, n, "{0}->{1}"), same);
    pl_value *each = PL_ADD(b, &pl_op_div, pl_spec(b, n, "{1},{1}->{1}"), dy[0], count);
    dx[0] = PL_ADD(b, &pl_op_mul, row, same, each);
}
