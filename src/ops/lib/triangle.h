/* ops/lib/triangle.h - sums along rows of a triangular matrix, in double. */
#ifndef PL_OPS_LIB_TRIANGLE_H
#define PL_OPS_LIB_TRIANGLE_H
#include "graph/type.h"

/* Sum over k < n of a[i + k step_a] b[j + k]. */
double pl_triangle_dot(pl_type t, const void *a, int64_t i, int64_t step_a, const void *b,
                       int64_t j, int64_t n);

#endif
