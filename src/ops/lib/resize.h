/* ops/lib/resize.h - what resize and resize_grad share: where a place of v lies on u.
 *
 * With s = scale, or v / u where scale=0:                         (coords)
 *   half_pixel            (i + 0.5) / s - 0.5
 *   half_pixel_symmetric  u / 2 (1 - v / (u s)) + (i + 0.5) / s - 0.5
 *   pytorch_half_pixel    the same as half_pixel, but 0 where v is 1
 *   align_corners         i (u - 1) / (v - 1), 0 where v is 1
 *   asymmetric            i / s
 * A scale is a number of f32 and divides as such: 3 / 0.6 is 5. What lies x from there has the
 * weight                                                          (mode)
 *   linear                1 - |x| within 1
 *   cubic                 (a + 2) |x|^3 - (a + 3) x^2 + 1 within 1,
 *                         a |x|^3 - 5 a x^2 + 8 a |x| - 4 a within 2, where a = coeff
 * with antialias=1 and s < 1 that of s x instead, all weights together 1. A place outside of u
 * counts as the nearest one of u, or with exclude=1 not at all. Source: ONNX, Resize-19, but that
 * align_corners takes the size there is for u s, as PyTorch and onnxruntime do. */
#ifndef PL_OPS_LIB_RESIZE_H
#define PL_OPS_LIB_RESIZE_H
#include "ops/lib/line.h"

#define PL_RESIZE_ATTRS                                                                            \
    "scale=0 mode=nearest coords=half_pixel round=round_prefer_floor coeff=-0.75 antialias=0 "     \
    "exclude=0"

pl_line_taps pl_resize_find(const pl_node *n, int64_t i);

/* Infer hook: known words, taps enough; v = floor(u scale) where its size is not given. */
PL_MUST_CHECK bool pl_resize_infer(const pl_node *n, pl_sig *sig, pl_err *err);

/* The attributes of n, written out for its gradient. */
const char *pl_resize_attrs(pl_builder *b, const pl_node *n);

#endif
