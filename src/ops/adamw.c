/* adamw: one step of AdamW, in place on weights and moments; the decay is decoupled: it shrinks the
 * weights before the step. Operands and formulas: ops/lib/adam.h. */
#include "graph/op.h"
#include "ops/lib/adam.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_adam_ref(s, in, out, true);
}

const pl_op pl_op_adamw = {
    .name = "adamw",
    .sig = PL_ADAM_SIG,
    .inplace = "023",
    .types = PL_ADAM_TYPES,
    .attrs = "beta1=0.9 beta2=0.999 eps=1e-8 decay=0.01",
    .infer = pl_adam_infer,
    .flops = pl_adam_flops,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 6 } },
                            { 2, { 4, 6 } },
                            { 2, { 4, 6 } },
                            { 2, { 4, 6 }, .lo = 0.1, .hi = 1 },
                            { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                            { 0, { 0 }, "i64", 1, 5 },
                            { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
            { "; beta1=0.8 beta2=0.95 eps=1e-3 decay=0.1",
              .in = { { 1, { 6 } },
                      { 1, { 6 }, "bf16" },
                      { 1, { 6 } },
                      { 1, { 6 }, .lo = 0.1, .hi = 1 },
                      { 0, { 0 }, .lo = 0.01, .hi = 0.1 },
                      { 0, { 0 }, "i64", 1, 5 },
                      { 0, { 0 }, .lo = 0.5, .hi = 1 } } },
            { 0 },
        },
};
