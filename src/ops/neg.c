/* neg: y = -x, one element each; not of u8, which has no sign. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *one = pl_elementwise_spec(b, n, "{1}->{1}");
    dx[0] = PL_ADD(b, &pl_op_neg, one, dy[0]);
}

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    (void)sig;
    return n->in[0]->type != PL_U8 || pl_err_set(err, PL_EINPUT, "u8 has no sign: add a cast");
}

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return -x[0];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_neg = {
    .name = "neg",
    .sig = "...->...",
    .types = "t",
    .linear = "0",
    .elementwise = true,
    .infer = infer,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { NULL, .in = { { 1, { 8 }, "i64", .lo = -9, .hi = 9 } } },
            { 0 },
        },
};
