/* Activations by their words. A word is one operator or, for quick_gelu and relu2, a product.
 * Source: names and formulas as in transformers (ACT2FN); So et al., Primer, 2021, for relu2. */
#include "models/act.h"
#include "graph/op.h"
#include "ops/list.h"

#include <string.h>

static const struct {
    const char *word, *node, *spec;
    const pl_op *op;
} acts[] = {
    { "gelu_tanh", "gelu", "; tanh=1", &pl_op_gelu },
    { "gelu", "gelu", "; tanh=0", &pl_op_gelu },
    { "relu", "relu", NULL, &pl_op_relu },
    { "relu2", "relu", NULL, &pl_op_relu },
    { "relu6", "relu6", NULL, &pl_op_relu6 },
    { "silu", "silu", NULL, &pl_op_silu },
    { "tanh", "tanh", NULL, &pl_op_tanh },
    { "sigmoid", "sigmoid", NULL, &pl_op_sigmoid },
    { "quick_gelu", "sigmoid", NULL, &pl_op_sigmoid },
};

static const char *name_of(pl_builder *b, const char *scope, const char *node)
{
    return scope ? pl_builder_fmt(b, "%s.%s", scope, node) : NULL;
}

pl_value *pl_act_add(pl_builder *b, const char *act, const char *scope, pl_value *x)
{
    size_t i = 0;
    while (strcmp(acts[i].word, act)) PL_ASSERT_CMP(++i, <, sizeof acts / sizeof *acts);
    bool quick = !strcmp(act, "quick_gelu");
    pl_value *in = quick ? PL_ADD(b, &pl_op_scale, "; value=1.702", x) : x;
    pl_value *y = PL_ADD_AS(b, acts[i].op, name_of(b, scope, acts[i].node), acts[i].spec, in);
    if (quick) return PL_ADD_AS(b, &pl_op_mul, name_of(b, scope, "quick_gelu"), NULL, x, y);
    if (!strcmp(act, "relu2"))
        return PL_ADD_AS(b, &pl_op_mul, name_of(b, scope, "square"), NULL, y, y);
    return y;
}
