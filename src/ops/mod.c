/* mod: the rest of a / b. It has the sign of b; with fmod=1 that of a, as in C. The rest of an
 * integer by 0 is 0. The gradient to b is that of a - b q, where the whole quotient q is flat. */
#include "ops/lib/elementwise.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *of_a = pl_elementwise_spec(b, n, "{0},{2}->{2}");
    const char *of_b = pl_elementwise_spec(b, n, "{2},{1}->{2}");
    pl_value *q = PL_ADD(b, &pl_op_sub, of_a, n->in[0], n->out[0]); /* b q, but for rounding */
    q = PL_LIKE(b, n, &pl_op_round, NULL, PL_ADD(b, &pl_op_div, of_b, q, n->in[1]));
    dx[0] = pl_elementwise_fold(b, n, 0, dy[0]);
    q = PL_LIKE(b, n, &pl_op_scale, "value=-1", PL_LIKE(b, n, &pl_op_mul, NULL, q, dy[0]));
    dx[1] = pl_elementwise_fold(b, n, 1, q);
}

static double rest(const double x[], const double attr[])
{
    double rest = fmod(x[0], x[1]), like_c = attr[0];
    bool other_sign = rest != 0 && (rest < 0) != (x[1] < 0);
    return other_sign && like_c == 0 ? rest + x[1] : rest;
}

const pl_op pl_op_mod = {
    .name = "mod",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .attrs = "fmod=0",
    .elementwise = true,
    .grad = grad,
    .work_per_out = 20,
    .ref = pl_elementwise_ref_fit,
    .element = rest,
    .examples = PL_EXAMPLES(
        { NULL, /* away from the jumps */
          .in = { { 2, { 4, 7 }, .lo = -2.4, .hi = -2.1 }, { 2, { 4, 7 }, .lo = 0.85, .hi = 1 } } },
        { "; fmod=1",
          .in = { { 2, { 4, 7 }, .lo = -2.4, .hi = -2.1 }, { 2, { 4, 7 }, .lo = 0.85, .hi = 1 } } },
        { "...n,n->...n",
          .in = { { 3, { 2, 3, 5 }, .lo = 2.1, .hi = 2.4 }, { 1, { 5 }, .lo = 0.85, .hi = 1 } } },
        { NULL, .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } },
        { "; fmod=1", .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } }),
};
