/* add: y = a + b, one element each. A signature such as "...n,n->...n" repeats the smaller operand
 * (a bias). The gradient of a repeated operand is summed. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    for (int i = 0; i < 2; i++) dx[i] = pl_elementwise_fold(b, n, i, dy[0]);
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] + x[1];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_add = {
    .name = "add",
    .sig = "...,...->...",
    .form = "012 02 12",
    .types = "t",
    .linear = "01",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 8 } }, { 2, { 4, 8 } } } },
            { "...n,n->...n", .in = { { 3, { 2, 4, 8 } }, { 1, { 8 } } } },
            { NULL, .in = { { 1, { 8 }, "i64" }, { 1, { 8 }, "i64" } } },
            { 0 },
        },
};
