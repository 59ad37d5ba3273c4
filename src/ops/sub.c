/* sub: y = a - b, one element each; a signature such as "...n,n->...n" repeats the smaller
 * operand. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = pl_elementwise_fold(b, n, 0, dy[0]);
    const char *spec = pl_elementwise_spec(b, n, "{1}->{1}; value=-1");
    dx[1] = PL_ADD(b, &pl_op_scale, spec, pl_elementwise_fold(b, n, 1, dy[0]));
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] - x[1];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_sub = {
    .name = "sub",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .linear = "01",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 } } } },
            { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 } } } },
            { "a(hd),ah->a(hd); h=2", .in = { { 2, { 3, 6 } }, { 2, { 3, 2 } } } },
            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } },
            { 0 },
        },
};
