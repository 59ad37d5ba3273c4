/* ops/lib/rope.h - how fast each pair of a rotary embedding turns: what the operator rope computes
 * with, here so that a fast kernel has the same table. */
#ifndef PL_OPS_LIB_ROPE_H
#define PL_OPS_LIB_ROPE_H
#include "graph/share.h"

/* Pairs that turn, of a head of d numbers: half of attribute `part`, or of d where that is 0. */
int64_t pl_rope_pairs(const pl_node *n, int64_t d);

/* Radians by which pair i of so many turns from one position to the next, of the attributes base,
 * factor, scaling, low, high, original and truncate (ops/rope.c says what they mean). */
double pl_rope_angle(const pl_node *n, int64_t i, int64_t pairs);

#endif
