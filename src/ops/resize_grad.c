/* resize_grad: the gradient of resize: dx at a place of u is the sum of dy at the places of v that
 * took it, each with its weight. */
#include "ops/lib/resize.h"
#include "ops/list.h"

static void grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[])
{
    const char *spec = pl_builder_fmt(b, "{1}->{0}; %s", pl_resize_attrs(b, n));
    dx[0] = PL_ADD(b, &pl_op_resize, pl_spec(b, n, spec), dy[0]);
}

static void ref(const pl_share *s, const void *const in[], void *const out[])
{
    pl_line_scatter(s, in, out, pl_resize_find);
}

const pl_op pl_op_resize_grad = {
    .name = "resize_grad",
    .sig = "...v->...u",
    .whole = "uv",
    .linear = "0",
    .attrs = PL_RESIZE_ATTRS,
    .infer = pl_resize_infer,
    .grad = grad,
    .ref = ref,
    .examples =
        PL_EXAMPLES({ "; u=5 scale=2", .in = { { 2, { 4, 10 } } } },
                    { "vn->un; u=4 mode=linear", .in = { { 2, { 7, 4 } } } },
                    { "; u=7 mode=linear coords=align_corners", .in = { { 2, { 4, 3 }, "bf16" } } },
                    { "; u=8 mode=cubic antialias=1", .in = { { 2, { 4, 3 } } } }),
};
