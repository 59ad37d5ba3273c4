/* ops/lib/pieces.h - concat and split: one *joined* operand, all others are its pieces in order.
 *
 * The letter that only the joined operand has ('v') counts through the pieces; a piece has its own
 * letter in v's place, that the joined operand lacks, or none and is one step of v. Pieces of equal
 * size may use the same letter. All further letters stand in every operand.
 *
 *   "...a,...b->...v"               v = a + b
 *   "bshd,bshd,bshd->bs(vhd)"       v = 3
 *
 * v and the pieces' letters are whole: a range of v would be a different range of every piece. They
 * are found by where they stand, so that no letter is lost for other uses. */
#ifndef PL_OPS_LIB_PIECES_H
#define PL_OPS_LIB_PIECES_H
#include "graph/share.h"

/* For infer: find the letters, mark them whole and set the sizes that inputs and attributes do not
 * give: v, or the pieces, which share evenly what is left. */
PL_MUST_CHECK bool pl_pieces_infer(pl_sig *sig, int joined, pl_err *err);

/* Reference kernel: copy every piece into the joined operand when that is the output, else
 * out of it. */
void pl_pieces_ref(const pl_share *s, int joined, const void *const in[], void *const out[]);

enum { PL_MAX_PIECES = 9 }; /* specs name operands by one digit */

#endif
