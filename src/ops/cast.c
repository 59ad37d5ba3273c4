/* cast: the same numbers in another type, "; to=bf16". Floats become bf16 by rounding to nearest
 * even, integers by dropping the fraction. The gradient is cast back. Linear between floats. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/lib/move.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    if (!pl_type_is_float(n->in[0]->type)) return;
    const char *spec = pl_builder_fmt(b, "{1}->{1}; to=%s", pl_type_name(n->in[0]->type));
    dx[0] = PL_ADD(b, &pl_op_cast, pl_elementwise_spec(b, n, spec), dy[0]);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_cast = {
    .name = "cast",
    .sig = "...->...",
    .types = "t->a",
    .attrs = "to=",
    .linear = "0",
    .elementwise = true,
    .grad = grad,
    .flops = pl_move_flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { "; to=f32", .in = { { 2, { 4, 7 } } } },
            { "; to=bf16", .in = { { 2, { 4, 7 } } } },
            { "; to=f32", .in = { { 2, { 4, 7 }, "bf16" } } },
            { "; to=i32", .in = { { 2, { 4, 7 }, .lo = -4, .hi = 4 } } },
            { "; to=f32", .in = { { 2, { 4, 7 }, "i64", .lo = -4, .hi = 4 } } },
            { 0 },
        },
};
