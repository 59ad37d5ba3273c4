/* ops/lib/batch_norm.h - what the batch norm operators share.
 *
 * A channel is a point of the letters of operand 1 (the sums); all other letters are summed over,
 * and the number of values per channel is the product of their *whole* sizes: so a split batch is
 * normalised as the whole one. The variance is biased, sumsq / count - mean^2, and not below 0. */
#ifndef PL_OPS_LIB_BATCH_NORM_H
#define PL_OPS_LIB_BATCH_NORM_H
#include "graph/walk.h"

/* Operands of batch_norm, and the first ones of its gradients. */
enum { PL_BN_X, PL_BN_SUM, PL_BN_SUMSQ, PL_BN_SCALE, PL_BN_BIAS };

double pl_batch_norm_count(const pl_node *n);

/* (x - mean) rstd at a point, with rstd = 1 / sqrt(var + eps). */
double pl_batch_norm_hat(const pl_walk *w, const void *const in[], double *rstd);

/* What the gradients recompute at a point: hat = (x - mean) rstd, and g, which is the gradient in
 * operand `dy`, or 0 where relu cut it off. */
typedef struct pl_batch_norm_point {
    double rstd, hat, g;
} pl_batch_norm_point;
pl_batch_norm_point pl_batch_norm_at(const pl_walk *w, const void *const in[], int dy);

#endif
