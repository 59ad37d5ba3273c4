/* isinf: 1 where x is infinite, else 0, one element each; positive=0 leaves out the one infinity,
 * negative=0 the other. */
#include "graph/op.h"
#include "ops/lib/elementwise.h"
#include "ops/list.h"

#include <math.h>

static double apply(const pl_share *s, const double x[])
{
    return isinf(x[0]) && pl_node_int(s->node, x[0] > 0 ? "positive" : "negative", 0) ? 1 : 0;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_elementwise_ref(s, in, out, apply);
}

const pl_op pl_op_isinf = {
    .name = "isinf",
    .sig = "...->...",
    .types = "f->b",
    .attrs = "positive=1 negative=1",
    .elementwise = true,
    .ref = ref,
    .examples =
        (const pl_example[]){
            { NULL, .in = { { 2, { 4, 7 } } } },
            { "ab->ab", .in = { { 2, { 3, 5 }, "bf16" } } },
            { 0 },
        },
};
