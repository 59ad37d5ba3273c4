/* ops/lib/move.h - what the operators share that move elements and compute nothing. */
#ifndef PL_OPS_LIB_MOVE_H
#define PL_OPS_LIB_MOVE_H
#include "graph/share.h"

/* to[i] = from[j], bit for bit (pl_type_get would round a large i64). */
void pl_move_element(pl_type t, void *to, int64_t i, const void *from, int64_t j);
void pl_move_zero(pl_type t, void *to, int64_t count);

/* Infer hook of slice and slice_grad: attribute "at" gives the range [at, at + u) of v. */
PL_MUST_CHECK bool pl_move_infer_range(const pl_node *n, pl_sig *sig, pl_err *err);
double pl_move_flops(const pl_share *s); /* 0 */

#endif
