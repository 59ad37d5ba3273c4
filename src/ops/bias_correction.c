/* bias_correction: 1 - base^step, of a step counted from 1: what a mean of moments that began at
 * zero is divided by. One operator, since 1 - x of a rounded x near 1 has few good digits.
 * Source: Kingma & Ba, 2015, section 3. */
#include "graph/op.h"
#include "ops/list.h"

#include <math.h>

static bool infer(const pl_node *n, pl_sig *sig, pl_err *err)
{
    double base = pl_node_real(n, "base", 0);
    (void)sig;
    return (base >= 0 && base < 1) ||
           pl_err_set(err, PL_EINPUT, "base is %g; it has to be in [0, 1)", base);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    double step = pl_type_get(s->node->in[0]->type, in[0], 0);
    pl_type_put(s->node->out[0]->type, out[0], 0, 1 - pow(pl_node_real(s->node, "base", 0), step));
}

const pl_op pl_op_bias_correction = {
    .name = "bias_correction",
    .sig = "->",
    .types = "i->F",
    .attrs = "base=0.9",
    .infer = infer,
    .flops_per_out = 2,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 0, { 0 }, "i64", 1, 5 } } },
                            { "; base=0.999", .in = { { 0, { 0 }, "i32", 1, 5 } } }),
};
