/* reduce_sum: sum over the letters that the output lacks; by default over the last dimension. */
#include "ops/lib/reduce.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_broadcast, pl_spec(b, n, "{1}->{0}"), dy[0]);
}

static double add(double sum, double x)
{
    return sum + x;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_reduce_ref(s, in, out, 0, add);
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
