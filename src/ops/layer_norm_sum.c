/* layer_norm_sum: the sum of each row h, in f32. Splitting h leaves partial sums: so a row may lie
 * on several devices. It has no gradient of its own: layer_norm's dx is the total one. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/list.h"

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t rows = pl_walk_mask(s->node, 1);
    pl_walk r = pl_walk_new(s, rows), h = pl_walk_new(s, pl_walk_mask(s->node, 0) & ~rows);
    do {
        double sum = 0;
        pl_walk_to(&h, &r);
        do sum += pl_element_get(&h, in, 0);
        while (pl_walk_next(&h));
        pl_element_put(&r, out, 0, sum);
    } while (pl_walk_next(&r));
}

const pl_op pl_op_layer_norm_sum = {
    .name = "layer_norm_sum",
    .sig = "...h->...",
    .types = "f>F",
    .flops_per_in = 1,
    .ref = ref,
    .examples = PL_EXAMPLES({ NULL, .in = { { 3, { 2, 4, 5 } } } },
                            { "bhsd->bs", .in = { { 4, { 2, 5, 3, 4 } } } },
                            { NULL, .in = { { 2, { 4, 6 }, "bf16" } } }),
};
