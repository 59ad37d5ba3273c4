/* reduce_sum: sum over the letters that the output lacks; by default over the last dimension. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_broadcast, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    const pl_node *n = s->node;
    uint32_t outer = pl_walk_mask(n, 1), inner = pl_walk_mask(n, 0) & ~outer;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, inner);
    do {
        double sum = 0;
        pl_walk_to(&i, &o);
        do sum += pl_type_get(n->in[0]->type, in[0], i.at[0]);
        while (pl_walk_next(&i));
        pl_type_put(n->out[0]->type, out[0], o.at[1], sum);
    } while (pl_walk_next(&o));
}

const pl_op pl_op_reduce_sum = {
    .name = "reduce_sum",
    .sig = "...v->...",
    .types = "t",
    .linear = "0",
    .grad = grad,
    .flops_per_in = 1,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } } } }, { "abn->n", .in = { { 3, { 2, 4, 8 } } } },
                    { "...->", .in = { { 2, { 4, 8 }, "i64" } } }),
};
