/* conv2d_grad_weight: x and dy give dw, the gradient of conv2d in its weights. The taps stand
 * plainly in the output, so their sizes are attributes: "; r=3 s=3". Splitting n, y or x leaves
 * a partial sum. */
#include "graph/op.h"
#include "ops/lib/window.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_conv2d_grad_data, pl_spec(b, n, "{1},{2}->{0}"), n->in[1], dy[0]);
    dx[1] = PL_ADD(b, &pl_op_conv2d, pl_spec(b, n, "{0},{2}->{1}"), n->in[0], dy[0]);
}

const pl_op pl_op_conv2d_grad_weight = {
    .name = "conv2d_grad_weight",
    .sig = "nc[y+r][x+s],noyx->ocrs",
    .form = "01 02 12 012 [0]02",
    .linear = "0|1",
    .attrs = "stride=1 dilation=1 pad=0",
    .grad = grad,
    .flops = pl_window_flops,
    .ref = pl_window_convolve,
    .examples = PL_EXAMPLES(
        { "; r=3 s=2", .in = { { 4, { 2, 3, 5, 6 } }, { 4, { 2, 4, 3, 5 } } } },
        { "; r=3 s=3 stride=2 pad=1", .in = { { 4, { 2, 2, 7, 6 } }, { 4, { 2, 3, 4, 3 } } } },
        { "n[y+r][x+s]c,nyxo->rsco; r=3 s=3 stride=2,1 dilation=1,2 pad=0,2",
          .in = { { 4, { 2, 8, 5, 2 } }, { 4, { 2, 3, 5, 3 } } } },
        { "n(gc)[y+r][x+s],n(go)yx->(go)crs; g=2 r=3 s=3 pad=1",
          .in = { { 4, { 2, 4, 4, 3 } }, { 4, { 2, 6, 4, 3 } } } },
        { "nc[y+r][x+s],ncyx->crs; r=3 s=3 stride=2 pad=1",
          .in = { { 4, { 2, 3, 5, 6 } }, { 4, { 2, 3, 3, 3 } } } },
        { "; r=3 s=3", .in = { { 4, { 2, 4, 4, 4 }, "bf16" }, { 4, { 2, 2, 2, 2 }, "bf16" } } }),
};
