/* resize: letter u becomes v by interpolation, "ncuy->ncvy; v=8" or "; scale=2": the nearest place
 * (mode=nearest, at halves by `round`), the two around it (mode=linear) or four (mode=cubic), more
 * with antialias=1. ops/lib/resize.h has the places. u and v are whole. A node resizes one
 * dimension; two after each other are bilinear. */
#include "ops/lib/resize.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; %s", pl_resize_attrs(b, n));
    dx[0] = PL_ADD(b, &pl_op_resize_grad, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_line_gather(s, in, out, pl_resize_find, 0);
}

const pl_op pl_op_resize = {
    .name = "resize",
    .sig = "...u->...v",
    .whole = "uv",
    .linear = "0",
    .attrs = PL_RESIZE_ATTRS,
    .infer = pl_resize_infer,
    .grad = grad,
    .ref = ref,
    .examples = PL_EXAMPLES(
        { "; scale=2", .in = { { 2, { 4, 5 } } } },
        { "ncuy->ncvy; v=7 mode=linear", .in = { { 4, { 2, 2, 4, 3 } } } },
        { "; v=3 mode=linear coords=align_corners", .in = { { 2, { 4, 7 } } } },
        { "un->vn; scale=1.7 mode=linear coords=half_pixel_symmetric", .in = { { 2, { 5, 4 } } } },
        { "; v=5 coords=asymmetric round=ceil", .in = { { 2, { 4, 3 }, "bf16" } } },
        { "; v=1 coords=pytorch_half_pixel round=floor", .in = { { 2, { 4, 3 } } } },
        { "; v=7 mode=cubic", .in = { { 2, { 4, 5 } } } },
        { "; v=5 mode=cubic coeff=-0.5 exclude=1 coords=align_corners", .in = { { 2, { 4, 7 } } } },
        { "un->vn; v=3 mode=linear antialias=1", .in = { { 2, { 8, 4 } } } },
        { "; scale=0.3 mode=cubic antialias=1 exclude=1", .in = { { 2, { 4, 9 } } } }),
};
