/* cast: the same numbers in another type, "; to=bf16". Floats become bf16 by rounding to nearest
 * even, integers by dropping the fraction. The gradient is cast back. Linear between floats. */
#include "ops/lib/elementwise.h"
#include "ops/lib/move.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *to = pl_builder_fmt(b, "to=%s", pl_type_name(n->in[0]->type));
    if (pl_type_is_float(n->in[0]->type)) dx[0] = PL_LIKE(b, n, &pl_op_cast, to, dy[0]);
}

static double same(double x)
{
    return x;
}

const pl_op pl_op_cast = {
    .name = "cast",
    PL_UNARY(same),
    .types = "t->a",
    .attrs = "to=",
    .linear = "0",
    .grad = grad,
    .flops = pl_move_flops,
    .examples = PL_EXAMPLES({ "; to=f32", .in = { { 2, { 4, 7 } } } },
                            { "; to=bf16", .in = { { 2, { 4, 7 } } } },
                            { "; to=f32", .in = { { 2, { 4, 7 }, "bf16" } } },
                            { "; to=i32", .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 } } },
                            { "; to=f32", .in = { { 2, { 4, 7 }, "i64", .lo = -4, .hi = 4 } } }),
};
