/* max_pool_index: where the maximum of each window lies: the row-major index, among the windowed
 * dimensions of the whole input, of the first of its largest elements, a NaN before all. Attributes
 * as in max_pool. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

#include <math.h>

/* The index of w's point, from places in the whole input. */
static int64_t index_of(const pl_share *s, const pl_walk *w)
{
    const pl_node *n = s->node;
    const pl_operand *x = &n->sig->operand[0];
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d].window < 0) continue;
        const pl_window *win = &n->sig->window[x->dim[d].window];
        int64_t position = s->factor[win->position].lo + w->index[win->position];
        at = at * n->in[0]->shape.dim[d] + win->stride * position +
             win->dilation * w->index[win->tap] - win->pad_lo;
    }
    return at;
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    uint32_t outer = pl_walk_mask(s->node, 1), all = (1u << s->node->sig->n_factors) - 1;
    pl_walk o = pl_walk_new(s, outer), i = pl_walk_new(s, all & ~outer);
    do {
        double top = -INFINITY;
        int64_t at = -1;
        pl_walk_to(&i, &o);
        do {
            if (!pl_walk_inside(&i, 0)) continue;
            double x = pl_element_get(&i, in, 0);
            bool better = x > top || (isnan(x) && !isnan(top));
            if (at >= 0 && !better) continue;
            pl_walk here = i;
            for (int f = 0; f < o.n; f++) here.index[o.factor[f]] = o.index[o.factor[f]];
            top = x, at = index_of(s, &here);
        } while (pl_walk_next(&i));
        pl_type_put(s->node->out[0]->type, out[0], o.at[1], (double)at);
    } while (pl_walk_next(&o));
}

const pl_op pl_op_max_pool_index = {
    .name = "max_pool_index",
    .sig = "nc[y+r][x+s]->ncyx",
    .types = "f->a",
    .attrs = "stride=1 dilation=1 pad=0 to=i64",
    .flops = pl_window_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; r=2 s=2 stride=2", .in = { { 4, { 2, 4, 4, 6 } } } },
        { "; r=3 s=3 stride=2 pad=1", .in = { { 4, { 1, 2, 7, 6 } } } },
        { "n[y+r]c->nyc; r=3 dilation=2 to=i32", .in = { { 3, { 2, 8, 2 }, "bf16" } } }),
};
