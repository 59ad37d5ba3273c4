/* mod: the rest of a / b, one element each; a signature such as "...n,n->...n" repeats the smaller
 * operand. It has the sign of b; with fmod=1 that of a, as in C. The rest of an integer by 0 is 0.
 * The gradient to b is that of a - b q, where the whole quotient q is flat. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *of_a = pl_elementwise_spec(b, n, "{0},{2}->{2}");
    const char *of_b = pl_elementwise_spec(b, n, "{2},{1}->{2}");
    const char *all = pl_elementwise_spec(b, n, "{2},{2}->{2}");
    const char *minus = pl_elementwise_spec(b, n, "{2}->{2}; value=-1");
    pl_value *q = PL_ADD(b, &pl_op_sub, of_a, n->in[0], n->out[0]); /* b q, but for rounding */
    q = PL_ADD(b, &pl_op_round, pl_elementwise_spec(b, n, "{2}->{2}"),
               PL_ADD(b, &pl_op_div, of_b, q, n->in[1]));
    dx[0] = pl_elementwise_fold(b, n, 0, dy[0]);
    dx[1] = pl_elementwise_fold(
        b, n, 1, PL_ADD(b, &pl_op_scale, minus, PL_ADD(b, &pl_op_mul, all, q, dy[0])));
}

static double apply_c(const pl_share *s, const double x[])
{
    return pl_elementwise_fit(s, fmod(x[0], x[1]));
}

static double apply(const pl_share *s, const double x[])
{
    double rest = fmod(x[0], x[1]);
    if (rest != 0 && (rest < 0) != (x[1] < 0)) rest += x[1];
    return pl_elementwise_fit(s, rest);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, pl_node_int(s->node, "fmod", 0) ? apply_c : apply);
}

const pl_op pl_op_mod = {
    .name = "mod",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .attrs = "fmod=0",
    .elementwise = true,
    .grad = grad,
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, /* away from the jumps */
              .in = { { 2, { 4, 7 }, .lo = -2.4, .hi = -2.1 },
                      { 2, { 4, 7 }, .lo = 0.85, .hi = 1 } } },
            { "; fmod=1", .in = { { 2, { 4, 7 }, .lo = -2.4, .hi = -2.1 },
                                  { 2, { 4, 7 }, .lo = 0.85, .hi = 1 } } },
            { "...n,n->...n", .in = { { 3, { 2, 3, 5 }, .lo = 2.1, .hi = 2.4 },
                                      { 1, { 5 }, .lo = 0.85, .hi = 1 } } },
            { NULL, .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } },
            { "; fmod=1", .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } },
            { 0 },
        },
};
