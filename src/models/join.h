/* models/join.h - many values as one, and one as many. */
#ifndef PL_MODELS_JOIN_H
#define PL_MODELS_JOIN_H
#include "models/model.h"

/* x [b, n, k] -> row[n], each [b, k]; and back. */
void pl_join_split(pl_builder *b, pl_value *x, int64_t n, pl_value *row[]);
pl_value *pl_join_rows(pl_builder *b, pl_value *const row[], int64_t n);

/* The same of some that are rows already: each of x is [b, k] or [b, n_i, k]. */
pl_value *pl_join_stacks(pl_builder *b, pl_value *const x[], int64_t n);

/* [b, k_0], [b, k_1] ... -> [b, k_0 + k_1 + ...]. */
pl_value *pl_join_columns(pl_builder *b, pl_value *const x[], int64_t n);

#endif
