/* avg_pool: the mean of each window. count_pad=1, the default as in PyTorch, counts the padding
 * as zeros; count_pad=0 divides by the elements that the window covers. Tap sizes are
 * attributes, as in max_pool. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *pattern =
        pl_builder_fmt(b, "{1}->{0}; count_pad=%d", (int)pl_node_int(n, "count_pad", 0));
    dx[0] = PL_ADD(b, &pl_op_avg_pool_grad, pl_spec(b, n, pattern), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    bool count_pad = pl_node_int(s->node, "count_pad", 0);
    uint32_t outer = pl_walk_mask(s->node, 1), all = (1u << s->node->sig->n_factors) - 1;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, all & ~outer);
    do {
        double sum = 0, count = 0;
        pl_walk_to(&i, &o);
        do {
            bool inside = pl_walk_inside(&i, 0);
            sum += inside ? pl_element_get(&i, in, 0) : 0;
            count += inside || count_pad;
        } while (pl_walk_next(&i));
        pl_element_put(&o, out, 0, count > 0 ? sum / count : 0);
    } while (pl_walk_next(&o));
}

const pl_op pl_op_avg_pool = {
    .name = "avg_pool",
    .sig = "nc[y+r][x+s]->ncyx",
    .linear = "0",
    .attrs = "stride=1 dilation=1 pad=0 count_pad=1",
    .grad = grad,
    .flops = pl_window_flops,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; r=2 s=2 stride=2", .in = { { 4, { 2, 3, 4, 6 } } } },
                    { "; r=3 s=3 stride=2 pad=1", .in = { { 4, { 1, 2, 7, 6 } } } },
                    { "; r=3 s=3 stride=2 pad=1 count_pad=0", .in = { { 4, { 1, 2, 7, 6 } } } },
                    { "n[y+r][x+s]c->nyxc; r=2 s=3 dilation=2,1 pad=1,2 count_pad=0",
                      .in = { { 4, { 2, 5, 5, 4 } } } },
                    { "; r=2 s=2 stride=3", .in = { { 4, { 1, 2, 8, 7 } } } },
                    { "n[y+r]c->nyc; r=3", .in = { { 3, { 2, 6, 2 }, "bf16" } } }),
};
