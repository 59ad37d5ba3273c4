/* stages/twins.h - pieces that can change places. */
#ifndef PL_STAGES_TWINS_H
#define PL_STAGES_TWINS_H
#include "stages/pieces.h"

/* Let twins follow each other: pieces of the same weight, with the same before and after them, and
 * values that differ in nothing but which of the two is a pin. In any cut they can be swapped until
 * they are in order, so no load is lost, and of 64 of them there are 65 prefixes, not 2^64. `out`
 * owns the new lists. */
void pl_stages_order_twins(pl_stages_pieces *pieces, pl_arena *out);

#endif
