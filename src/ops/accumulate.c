/* accumulate: s = s + x in place: a sum that is a state, and lives from step to step. It is of f32,
 * whatever the type of x. */
#include "ops/lib/elementwise.h"

static double add(double s, double x)
{
    return s + x;
}

const pl_op pl_op_accumulate = {
    .name = "accumulate",
    .sig = "...,...->...",
    .linear = "01",
    .inplace = "0",
    .types = "F,f->F",
    .ref = pl_elementwise_ref,
    .binary = add,
    .examples =
        PL_EXAMPLES({ NULL, .in = { { 2, { 4, 8 } }, { 2, { 4, 8 } } } },
                    { NULL, .in = { { 2, { 4, 8 } }, { 2, { 4, 8 }, "bf16" } } },
                    { "a(bc),a(bc)->a(bc); b=2", .in = { { 2, { 3, 8 } }, { 2, { 3, 8 } } } }),
};
