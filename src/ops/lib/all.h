/* ops/lib/all.h - every operator of this folder as one set. */
#ifndef PL_OPS_LIB_ALL_H
#define PL_OPS_LIB_ALL_H
#include "graph/op.h"

extern const pl_ops pl_ops_all;

#endif
