/* conv2d: convolution (correlation) with stride, dilation and symmetric zero padding per window,
 *   y[n,o,y,x] = sum over c,r,s of x[n,c, stride y + dilation r - pad, ...] w[o,c,r,s]
 * Default NCHW with OIHW weights; NHWC with HWIO is "n[y+r][x+s]c,rsco->nyxo"; groups are
 * composite letters, "n(gc)[y+r][x+s],(go)crs->n(go)yx; g=2", and depthwise is
 * "nc[y+r][x+s],crs->ncyx". One to three windows. Splitting y or x needs a halo of the input;
 * splitting c leaves a partial sum.
 * Its gradients conv2d_grad_data and conv2d_grad_weight are
 * bilinear like it: each of the three is differentiated by the other two. */
#include "graph/op.h"
#include "ops/lib/window.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    dx[0] = PL_ADD(b, &pl_op_conv2d_grad_data, pl_spec(b, n, "{2},{1}->{0}"), dy[0], n->in[1]);
    dx[1] = PL_ADD(b, &pl_op_conv2d_grad_weight, pl_spec(b, n, "{0},{2}->{1}"), n->in[0], dy[0]);
}

const pl_op pl_op_conv2d = {
    .name = "conv2d",
    .sig = "nc[y+r][x+s],ocrs->noyx",
    .form = "01 02 12 012 [0]01",
    .linear = "0|1",
    .attrs = "stride=1 dilation=1 pad=0",
    .grad = grad,
    .flops = pl_window_flops,
    .ref = pl_window_convolve,
    .examples = PL_EXAMPLES(
        { NULL, .in = { { 4, { 2, 3, 5, 6 } }, { 4, { 4, 3, 3, 2 } } } },
        { "; stride=2 pad=1", .in = { { 4, { 2, 2, 7, 6 } }, { 4, { 3, 2, 3, 3 } } } },
        { "; stride=2", .in = { { 4, { 1, 2, 6, 5 } }, { 4, { 3, 2, 1, 1 } } } },
        { "; stride=2,1 dilation=1,2 pad=0,2",
          .in = { { 4, { 1, 2, 8, 5 } }, { 4, { 3, 2, 3, 3 } } } },
        { "n[y+r][x+s]c,rsco->nyxo; stride=2 pad=3",
          .in = { { 4, { 2, 9, 7, 2 } }, { 4, { 7, 7, 2, 2 } } } },
        { "n(gc)[y+r][x+s],(go)crs->n(go)yx; g=2 pad=1",
          .in = { { 4, { 2, 4, 4, 3 } }, { 4, { 6, 2, 3, 3 } } } },
        { "nc[y+r][x+s],crs->ncyx; pad=1 stride=2",
          .in = { { 4, { 2, 3, 5, 5 } }, { 3, { 3, 3, 3 } } } },
        { "nc[y+r],ocr->noy; pad=1", .in = { { 3, { 2, 3, 7 } }, { 3, { 2, 3, 3 } } } },
        { NULL, .in = { { 4, { 2, 4, 4, 4 }, "bf16" }, { 4, { 2, 4, 3, 3 }, "bf16" } } }),
};
