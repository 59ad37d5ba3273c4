/* ops/lib/window.h - what convolution and pooling share. Letters are free (NCHW, NHWC, one to
 * three windows, groups): these functions look only at which dimensions are windows. */
#ifndef PL_OPS_LIB_WINDOW_H
#define PL_OPS_LIB_WINDOW_H
#include "graph/op.h"
#include "graph/walk.h"

/* 2 x the product of all factors: a multiply and an add, or a compare and a move, at each tap. */
double pl_window_flops(const pl_share *s);

/* Reference kernel: output 0 = sum of input 0 (windowed; 0 in the padding) times input 1 over the
 * letters that output 0 lacks. */
void pl_window_convolve(const pl_share *s, const void *const in[], void *const out[]);

/* The transposed window. Each element of output 0, whose windows' positions are not split, becomes
 * the sum of term() over all points that reach it: positions, taps, and the letters that the output
 * lacks. w stands at the point; it loops over the taps and the lacking letters. Elements that no
 * window reaches become 0. */
void pl_window_gather(const pl_share *s, const void *const in[], void *const out[],
                      double (*term)(const pl_walk *w, const void *const in[]));

#endif
