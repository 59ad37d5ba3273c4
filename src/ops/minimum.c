/* minimum: y = the smaller of a and b, one element each; a signature such as "...n,n->...n" repeats
 * the smaller operand. The gradient goes to the smaller one, to a when they are equal. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_elementwise_spec(b, n, "{0},{1}->{2}");
    const char *full = pl_elementwise_spec(b, n, "{2},{2}->{2}");
    pl_value *more = PL_ADD(b, &pl_op_sub, spec, n->in[0], n->in[1]);
    pl_value *to_b = PL_ADD(b, &pl_op_relu_grad, full, more, dy[0]); /* dy where a - b > 0 */
    pl_value *to_a = PL_ADD(b, &pl_op_sub, full, dy[0], to_b);
    dx[0] = pl_elementwise_fold(b, n, 0, to_a);
    dx[1] = pl_elementwise_fold(b, n, 1, to_b);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] <= x[1] ? x[0] : x[1];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_minimum = {
    .name = "minimum",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 }, .lo = 1.1, .hi = 2 } } },
            { NULL, .in = { { 2, { 4, 7 } }, { 2, { 4, 7 }, .lo = -2, .hi = -1.1 } } },
            { "...n,n->...n", .in = { { 3, { 2, 3, 5 } }, { 1, { 5 }, .lo = -2, .hi = -1.1 } } },
            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } },
            { 0 },
        },
};
