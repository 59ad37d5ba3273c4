/* max_pool_grad: x, y and dy give dx. Each window hands its dy to its first maximum, in the
 * order of the taps; where windows overlap these add. The positions are not split: windows
 * overlap in the output. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

#include <string.h>

enum { X, Y, DY };

/* y is a copy of one of the window's elements, so equality finds it. */
static bool is_max(const pl_walk *w, const void *const in[])
{
    return pl_walk_inside(w, X) && pl_element_get(w, in, X) == pl_element_get(w, in, Y);
}

/* w stands at one window and one of its taps. */
static double term(const pl_walk *w, const void *const in[])
{
    pl_walk first = *w, tap = *w;
    if (!is_max(w, in)) return 0;
    memset(first.index, 0, sizeof first.index);
    pl_walk_to(&tap, &first); /* moves only what w walks over: the taps */
    while (memcmp(tap.index, w->index, sizeof tap.index)) {
        if (is_max(&tap, in)) return 0;
        pl_walk_next(&tap);
    }
    return pl_element_get(w, in, DY);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_window_gather(s, in, out, term);
}

/* Four different numbers: most y are some x of their window, and most windows have ties. */
#define TIES "bf16", .lo = 1, .hi = 1.03

const pl_op pl_op_max_pool_grad = {
    .name = "max_pool_grad",
    .sig = "nc[y+r][x+s],ncyx,ncyx->nc[y+r][x+s]",
    .linear = "2",
    .attrs = "stride=1 dilation=1 pad=0",
    .flops = pl_window_flops,
    .ref = ref,
    .examples = PL_EXAMPLES({ "; r=2 s=2 stride=2", .in = { { 4, { 2, 3, 4, 6 }, TIES },
                                                            { 4, { 2, 3, 2, 3 }, TIES },
                                                            { 4, { 2, 3, 2, 3 }, "bf16" } } },
                            { "; r=3 s=3 stride=2 pad=1", .in = { { 4, { 1, 2, 7, 6 }, TIES },
                                                                  { 4, { 1, 2, 4, 3 }, TIES },
                                                                  { 4, { 1, 2, 4, 3 }, "bf16" } } },
                            { "n[y+r][x+s]c,nyxc,nyxc->n[y+r][x+s]c; r=3 s=3 pad=1",
                              .in = { { 4, { 2, 4, 3, 4 }, TIES },
                                      { 4, { 2, 4, 3, 4 }, TIES },
                                      { 4, { 2, 4, 3, 4 }, "bf16" } } }),
};
