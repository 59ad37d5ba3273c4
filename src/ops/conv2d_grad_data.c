/* conv2d_grad_data: the transposed convolution, dy and w give dx: the gradient of conv2d in its
 * input, and a layer of its own in generators, where o are the input's channels and c the output's.
 * `extent` says the sizes of the windowed dimensions, since with a stride several fit: of y
 * positions stride (y - 1) + dilation (r - 1) + 1 - 2 pad, and up to stride - 1 more. y and x are
 * not split: neighbours' windows overlap in the output. */
#include "graph/op.h"
#include "ops/lib/element.h"
#include "ops/lib/window.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_conv2d, pl_spec(b, n, "{2},{1}->{0}"), dy[0], n->in[1]);
    dx[1] = PL_ADD(b, &pl_op_conv2d_grad_weight, pl_spec(b, n, "{2},{0}->{1}"), dy[0], n->in[0]);
}

static double term(const pl_walk *w, const void *const in[])
{
    return pl_element_get(w, in, 0) * pl_element_get(w, in, 1);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_window_gather(s, in, out, term);
}

const pl_op pl_op_conv2d_grad_data = {
    .name = "conv2d_grad_data",
    .sig = "noyx,ocrs->nc[y+r][x+s]",
    .form = "01 02 12 012 [2]12",
    .linear = "0|1",
    .attrs = "stride=1 dilation=1 pad=0 extent=",
    .grad = grad,
    .flops = pl_window_flops,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; extent=5,6", .in = { { 4, { 2, 4, 3, 5 } }, { 4, { 4, 3, 3, 2 } } } },
        { "; stride=2 pad=1 extent=7,6", .in = { { 4, { 2, 3, 4, 3 } }, { 4, { 3, 2, 3, 3 } } } },
        { "; stride=3 extent=8,7", .in = { { 4, { 1, 3, 3, 3 } }, { 4, { 3, 2, 2, 1 } } } },
        { "nyxo,rsco->n[y+r][x+s]c; stride=2,1 dilation=1,2 pad=0,2 extent=8,5",
          .in = { { 4, { 1, 3, 5, 3 } }, { 4, { 3, 3, 2, 3 } } } },
        { "n(go)yx,(go)crs->n(gc)[y+r][x+s]; g=2 pad=1 extent=4,3",
          .in = { { 4, { 2, 6, 4, 3 } }, { 4, { 6, 2, 3, 3 } } } },
        { "noy,ocr->nc[y+r]; stride=2 pad=1 extent=8",
          .in = { { 3, { 2, 3, 4 } }, { 3, { 3, 2, 3 } } } },
        { "ncyx,crs->nc[y+r][x+s]; stride=2 pad=1 extent=5,6",
          .in = { { 4, { 2, 3, 3, 3 } }, { 3, { 3, 3, 3 } } } },
        { "; extent=4,4", .in = { { 4, { 2, 4, 2, 2 }, "bf16" }, { 4, { 4, 2, 3, 3 }, "bf16" } } }),
};
