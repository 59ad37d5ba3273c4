/* accumulate: s = s + x in place, one element each: a sum that is a state, and lives from step to
 * step. */
#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

static double apply(const pl_share *s, const double x[])
{
    (void)s;
    return x[0] + x[1];
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_accumulate = {
    .name = "accumulate",
    .sig = "...,...->...",
    .linear = "01",
    .inplace = "0",
    .types = "F",
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 8 } }, { 2, { 4, 8 } } } },
            { "a(bc),a(bc)->a(bc); b=2", .in = { { 2, { 3, 8 } }, { 2, { 3, 8 } } } },
            { 0 },
        },
};
