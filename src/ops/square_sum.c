/* square_sum: the sum of the squares of all elements, in f32: a gradient's share of the global
 * norm. Split along any letter it is a partial sum. */
#include "graph/op.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->in[0]->type;
    double sum = 0;
    for (int64_t i = 0, count = pl_shape_count(&s->in[0]); i < count; i++) {
        double x = pl_type_get(t, in[0], i);
        sum += x * x;
    }
    pl_type_put(s->node->out[0]->type, out[0], 0, sum);
}

const pl_op pl_op_square_sum = {
    .name = "square_sum",
    .sig = "...->",
    .types = "f->F",
    .flops_per_in = 2,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } } } },
                            { "(ab)c->; a=2", .in = { { 2, { 6, 3 }, "bf16" } } },
                            { NULL, .in = { { 0, { 0 }, "f32" } } }),
};
