/* detach: the same numbers, through which no gradient goes back. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    (void)b, (void)n, (void)dy, (void)dx;
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

/* relu(-|x|), which is flat: central differences find no slope there either. */
static pl_value *flat(pl_builder *b, const char *spec, pl_value *const in[])
{
    pl_value *x = PL_ADD(b, &pl_op_detach, spec, in[0]);
    x = x ? PL_ADD(b, &pl_op_neg, NULL, PL_ADD(b, &pl_op_abs, NULL, x)) : NULL;
    return x ? PL_ADD(b, &pl_op_relu, NULL, x) : NULL;
}

const pl_op pl_op_detach = {
    .name = "detach",
    .sig = "...->...",
    .linear = "0",
    .elementwise = true,
    .grad = grad,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } } }, .build = flat },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } }, .build = flat },
            { 0 },
        },
};
