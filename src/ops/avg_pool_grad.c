/* avg_pool_grad: each window's dy, divided by its count (count_pad as in avg_pool), goes to all
 * of its elements; where windows overlap these add. The positions are not split: windows overlap
 * in the output. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

#include <string.h>

/* What avg_pool divided the window at w by. */
static double find_count(const pl_walk *w)
{
    if (pl_node_int(w->share->node, "count_pad", 0)) return (double)pl_walk_count(w);
    pl_walk first = *w, tap = *w;
    double count = 0;
    memset(first.index, 0, sizeof first.index);
    pl_walk_to(&tap, &first); /* moves only what w walks over: the taps */
    do count += pl_walk_inside(&tap, 1);
    while (pl_walk_next(&tap));
    return count;
}

static double term(const pl_walk *w, const void *const in[])
{
    return pl_element_get(w, in, 0) / find_count(w);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_window_gather(s, in, out, term);
}

const pl_op pl_op_avg_pool_grad = {
    .name = "avg_pool_grad",
    .sig = "ncyx->nc[y+r][x+s]",
    .linear = "0",
    .attrs = "stride=1 dilation=1 pad=0 count_pad=1 extent=",
    .flops = pl_window_flops,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; r=2 s=2 stride=2 extent=5,6", .in = { { 4, { 2, 3, 2, 3 } } } },
                    { "; r=3 s=3 stride=2 pad=1 extent=7,6", .in = { { 4, { 1, 2, 4, 3 } } } },
                    { "nyxc->n[y+r][x+s]c; r=3 s=3 stride=2 pad=1 count_pad=0 extent=7,6",
                      .in = { { 4, { 1, 4, 3, 4 } } } }),
};
