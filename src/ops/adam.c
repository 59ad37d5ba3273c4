/* adam: one step of Adam, in place on weights and moments; the decay is L2: it is added to the
 * gradient. Operands and formulas: ops/lib/adam.h. */
#include "graph/op.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_adam_ref(s, in, out, PL_ADAM);
}

const pl_op pl_op_adam = {
    .name = "adam",
    .sig = PL_ADAM_SIG,
    .inplace = "023",
    .types = PL_ADAM_TYPES,
    .attrs = PL_ADAM_ATTRS,
    .infer = pl_adam_infer,
    .flops = pl_adam_flops,
    .ref = ref,
    .examples = pl_adam_examples,
};
