/* ops/lib/elementwise.h - what the one-element-each operators share.
 *
 * Their signature may repeat a smaller operand ("...n,n->...n"); every output letter stands in at
 * least one input, every input letter in the output. */
#ifndef PL_OPS_LIB_ELEMENTWISE_H
#define PL_OPS_LIB_ELEMENTWISE_H
#include "graph/op.h"

/* Reference kernel: out[0][e] = apply(the inputs' elements at e), in double. */
void pl_elementwise_ref(const pl_share *s, const void *const in[], void *const out[],
                        double (*apply)(const pl_share *s, const double x[]));

/* The gradient g, of the output's shape, summed to the shape of input i where the signature repeats
 * that input. */
pl_value *pl_elementwise_fold(pl_builder *b, const pl_node *n, int i, pl_value *g);

#endif
