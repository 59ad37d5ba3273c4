/* ops/lib/layer_norm.h - what the layer norm operators share.
 *
 * A row is a point of the letters of operand 1 (its sum); the letters of x that this lacks are
 * along the row, and their *whole* sizes count: a share of a row is normalised as the whole one.
 * The variance is biased, deviation / count. */
#ifndef PL_OPS_LIB_LAYER_NORM_H
#define PL_OPS_LIB_LAYER_NORM_H
#include "graph/op.h"
#include "graph/walk.h"

/* Operands of layer_norm, and the first ones of its gradients. */
enum { PL_LN_X, PL_LN_SUM, PL_LN_DEVIATION, PL_LN_SCALE, PL_LN_BIAS };

double pl_layer_norm_count(const pl_node *n); /* values of a whole row */

/* (x - mean) rstd at a point, with rstd = 1 / sqrt(var + eps). */
double pl_layer_norm_hat(const pl_walk *w, const void *const in[], double *rstd);

#endif
