/* adabelief: one step of AdaBelief, in place on weights and moments: the second one is of what the
 * gradient is off its mean by, not of the gradient. The decay is decoupled. Operands and formulas:
 * ops/lib/adam.h. */
#include "graph/op.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_adam_ref(s, in, out, PL_ADABELIEF);
}

const pl_op pl_op_adabelief = {
    .name = "adabelief",
    .sig = PL_ADAM_SIG,
    .inplace = "023",
    .types = PL_ADAM_TYPES,
    .attrs = PL_ADAM_ATTRS,
    .infer = pl_adam_infer,
    .flops = pl_adam_flops,
    .ref = ref,
    .examples = pl_adam_examples,
};
