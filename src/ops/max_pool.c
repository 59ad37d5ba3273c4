/* max_pool: the maximum of each window; the padding counts as minus infinity, a NaN in the
 * window wins. The tap sizes are attributes: "; r=3 s=3 stride=2 pad=1", or
 * "n[y+r][x+s]c->nyxc; r=2 s=2" for NHWC. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

#include <math.h>

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_max_pool_grad, pl_spec(b, n, "{0},{1},{1}->{0}"), n->in[0], n->out[0],
                   dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t outer = pl_walk_mask(s->node, 1), all = (1u << s->node->sig->n_factors) - 1;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, all & ~outer);
    do {
        double top = -INFINITY;
        pl_walk_to(&i, &o);
        do {
            double x = pl_walk_inside(&i, 0) ? pl_element_get(&i, in, 0) : -INFINITY;
            if (x > top || isnan(x)) top = x;
        } while (pl_walk_next(&i));
        pl_element_put(&o, out, 0, top);
    } while (pl_walk_next(&o));
}

/* Far apart, so that a central difference does not change which element is the maximum. */
#define APART .lo = -50, .hi = 50

const pl_op pl_op_max_pool = {
    .name = "max_pool",
    .sig = "nc[y+r][x+s]->ncyx",
    .attrs = "stride=1 dilation=1 pad=0",
    .grad = grad,
    .flops = pl_window_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; r=2 s=2 stride=2", .in = { { 4, { 2, 3, 4, 6 }, APART } } },
        { "; r=3 s=3 stride=2 pad=1", .in = { { 4, { 1, 2, 7, 6 }, APART } } },
        { "; r=2 s=3 dilation=2,1 pad=1,0", .in = { { 4, { 1, 2, 5, 5 }, APART } } },
        { "n[y+r][x+s]c->nyxc; r=3 s=3 stride=2 pad=1", .in = { { 4, { 2, 5, 6, 4 }, APART } } },
        { "; r=2 s=2 stride=3", .in = { { 4, { 1, 2, 8, 7 }, APART } } },
        { "n[y+r]c->nyc; r=3", .in = { { 3, { 2, 6, 2 }, "bf16" } } }),
};
