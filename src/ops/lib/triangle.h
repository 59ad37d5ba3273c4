/* ops/lib/triangle.h - what the operators of triangular matrices share. */
#ifndef PL_OPS_LIB_TRIANGLE_H
#define PL_OPS_LIB_TRIANGLE_H
#include "graph/graph.h"

/* Infer hook: the matrix of the letters h and g is square. */
PL_MUST_CHECK bool pl_triangle_infer(const pl_node *n, pl_sig *sig, pl_err *err);

/* In double, the sum over k < n of a[i + k step_a] b[j + k]. */
double pl_triangle_dot(pl_type t, const void *a, int64_t i, int64_t step_a, const void *b,
                       int64_t j, int64_t n);

#endif
