/* ops/lib/reduce.h - what the operators share that reduce over the letters the output lacks. */
#ifndef PL_OPS_LIB_REDUCE_H
#define PL_OPS_LIB_REDUCE_H
#include "graph/op.h"

/* Reference kernel: an element of out[0] is add(... add(add(start, x0), x1) ...) of those of in[0]
 * that reduce to it. */
void pl_reduce_ref(const pl_share *s, const void *const in[], void *const out[], double start,
                   double (*add)(double so_far, double x));

/* Gradient hook of the largest or the least: shared evenly by all that are equal to it. */
void pl_reduce_grad_extreme(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);

#endif
