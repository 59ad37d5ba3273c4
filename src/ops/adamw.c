/* adamw: one step of AdamW, in place on weights and moments; the decay is decoupled: it shrinks the
 * weights before the step. Operands and formulas: ops/lib/adam.h. */
#include "graph/op.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_adam_ref(s, in, out, PL_ADAMW);
}

const pl_op pl_op_adamw = {
    .name = "adamw",
    .sig = PL_ADAM_SIG,
    .inplace = "023",
    .types = PL_ADAM_TYPES,
    .attrs = PL_ADAM_ATTRS,
    .infer = pl_adam_infer,
    .flops = pl_adam_flops,
    .ref = ref,
    .examples = pl_adam_examples,
};
