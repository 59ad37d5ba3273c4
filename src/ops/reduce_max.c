/* reduce_max: the largest over the letters that the output lacks; by default over the last
 * dimension. Splitting such a letter leaves partial results that combine by the maximum;
 * the gradient is shared evenly by all that are equal to it. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/extreme.h"
#include "ops/list.h"

#include <math.h>

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    uint32_t outer = pl_walk_mask(n, 1), inner = pl_walk_mask(n, 0) & ~outer;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner);
    do {
        double top = -INFINITY;
        pl_walk_to(&i, &o);
        do top = fmax(top, pl_type_get(n->in[0]->type, in[0], i.at[0]));
        while (pl_walk_next(&i));
        pl_type_put(n->out[0]->type, out[0], o.at[1], top);
    } while (pl_walk_next(&o));
}

/* So that a central difference does not change which one it is. */
#define APART .lo = -50, .hi = 50

const pl_op pl_op_reduce_max = {
    .name = "reduce_max",
    .sig = "...v->...",
    .types = "t",
    .monoid = PL_MAX,
    .grad = pl_extreme_grad,
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 }, APART } } },
                            { "abn->n", .in = { { 3, { 2, 3, 5 }, APART } } },
                            { "ab->; a=4", .in = { { 2, { 4, 7 }, APART } } },
                            { "...->", .in = { { 2, { 4, 7 }, "i64", .lo = -9, .hi = 9 } } }),
};
