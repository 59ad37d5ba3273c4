/* reshard/blocks.h - what the devices of a group give each other in a move, for its price. */
#ifndef PL_RESHARD_BLOCKS_H
#define PL_RESHARD_BLOCKS_H
#include "reshard/move.h"

/* What the blocks of all groups are like. */
typedef struct pl_blocks {
    int64_t most; /* elements of the largest, -1: some are no products of ranges               */
    bool whole;   /* each block that is not empty is all that its sender and its receiver have */
    bool lacks;   /* some device does not find all of its part                                 */
} pl_blocks;

/* Of a move between placements all of whose parts are even. */
pl_blocks pl_blocks_even(const pl_move *x, const pl_mesh *m, const pl_shape *s);

/* Of any, in a time that grows with the devices along an axis, not with all of them. `memo` may be
 * NULL. */
pl_blocks pl_blocks_uneven(const pl_move *x, const pl_mesh *m, const pl_shape *s,
                           pl_blocks_memo *memo);

/* Elements that rank 0 has before, gets, and has both times (-1: no product of ranges). */
typedef struct pl_kept {
    int64_t has, gets, keeps;
} pl_kept;

pl_kept pl_blocks_kept(const pl_move *x, const pl_mesh *m, const pl_shape *s);

#endif
