/* mod: the rest of a / b, one element each; a signature such as "...n,n->...n" repeats the smaller
 * operand. It has the sign of b; with fmod=1 that of a, as in C. The rest of an integer by 0 is 0.
 * No gradient. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

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
    .each = 20,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL,
              .in = { { 2, { 4, 7 }, .lo = -3, .hi = 3 }, { 2, { 4, 7 }, .lo = 0.5, .hi = 2 } } },
            { "...n,n->...n",
              .in = { { 3, { 2, 3, 5 }, .lo = -3, .hi = 3 }, { 1, { 5 }, .lo = 0.5, .hi = 2 } } },
            { NULL, .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } },
            { "; fmod=1", .in = { { 1, { 8 }, "i64", -9, 9 }, { 1, { 8 }, "i64", -4, 4 } } },
            { 0 },
        },
};
