/* ops/lib/seeded.h - what the operators share that draw numbers: an input that is the seed of a
 * step, and the attribute "stream", which tells those of a model apart. */
#ifndef PL_OPS_LIB_SEEDED_H
#define PL_OPS_LIB_SEEDED_H
#include "base/rng.h"
#include "graph/share.h"

/* For infer: the stream is not negative, and the seed, input `seed`, is an i64. */
PL_MUST_CHECK bool pl_seeded_check(const pl_node *n, int seed, pl_err *err);
pl_rng pl_seeded_rng(const pl_node *n, const void *const in[], int seed);

#endif
