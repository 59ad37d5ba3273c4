/* square_sum: the sum of the squares of all elements, in f32: a gradient's share of the global
 * norm; or of those of each row, "vh->v". Split along a letter that is summed it is a partial
 * sum. */
#include "ops/lib/reduce.h"
#include "ops/list.h"

static double add_square(double sum, double x)
{
    return sum + x * x;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_reduce_ref(s, in, out, 0, add_square);
}

const pl_op pl_op_square_sum = {
    .name = "square_sum",
    .sig = "...->",
    .form = "0 01",
    .types = "f->F",
    .flops_per_in = 2,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 2, { 4, 8 } } } }, { "(ab)c->; a=2", .in = { { 2, { 6, 3 }, "bf16" } } },
        { "vh->v", .in = { { 2, { 6, 4 } } } }, { NULL, .in = { { 0, { 0 }, "f32" } } }),
};
