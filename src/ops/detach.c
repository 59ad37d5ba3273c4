/* detach: the same numbers, through which no gradient goes back. */
#include "ops/lib/elementwise.h"

static double same(double x)
{
    return x;
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
    PL_UNARY(same),
    .linear = "0",
    .grad = pl_elementwise_flat,
    .examples = PL_EXAMPLES({ NULL, .in = { { 2, { 4, 7 } } }, .build = flat },
                            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } }, .build = flat }),
};
