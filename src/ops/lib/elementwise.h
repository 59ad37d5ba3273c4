/* ops/lib/elementwise.h - what the one-element-each operators share.
 *
 * Some may repeat a smaller operand ("...n,n->...n"): their form says so. */
#ifndef PL_OPS_LIB_ELEMENTWISE_H
#define PL_OPS_LIB_ELEMENTWISE_H
#include "graph/op.h"

/* Reference kernel: out[0][e] = apply(the inputs' elements at e), in double. */
void pl_elementwise_ref(const pl_share *s, const void *const in[], void *const out[],
                        double (*apply)(const pl_share *s, const double x[]));

/* What an element of output 0 may hold of y, the true answer: of an integer type y cut towards
 * zero, and 0 where the type lacks it, as after a division by 0. */
double pl_elementwise_fit(const pl_share *s, double y);

/* pl_spec(b, n, pattern) where n has a signature of its own, so that its gradient has the same
 * factors; else only the attributes of the pattern: the default signature says the same in fewer
 * words. */
const char *pl_elementwise_spec(pl_builder *b, const pl_node *n, const char *pattern);

/* The gradient g, of the output's shape, summed to the shape of input i where the signature repeats
 * that input. */
pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g);

/* Gradient hook of what is flat but for jumps: 0, so nothing flows. */
void pl_elementwise_flat(pl_builder *b, const pl_node *n, pl_value *const dy[], pl_value *dx[]);

#endif
