/* ops/lib/softmax.h - what softmax and its gradient share. */
#ifndef PL_OPS_LIB_SOFTMAX_H
#define PL_OPS_LIB_SOFTMAX_H
#include "graph/graph.h"

/* Infer hook: v is the last dimension, so that a row is dense in memory. */
PL_MUST_CHECK bool pl_softmax_infer(const pl_node *n, pl_sig *sig, pl_err *err);

#endif
