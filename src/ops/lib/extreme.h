/* ops/lib/extreme.h - what reduce_max and reduce_min share. */
#ifndef PL_OPS_LIB_EXTREME_H
#define PL_OPS_LIB_EXTREME_H
#include "graph/op.h"

/* Gradient hook: dy is shared evenly by the elements of the input that are equal to the output, so
 * that the gradient does not depend on their order and every letter may be split. */
void pl_extreme_grad(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);

#endif
