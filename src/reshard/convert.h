/* reshard/convert.h - what it takes to get from each placement of a tensor to each other one: the
 * cheapest paths of reshard/reshard.h for all pairs at once, as a planner wants them. */
#ifndef PL_RESHARD_CONVERT_H
#define PL_RESHARD_CONVERT_H
#include "reshard/reshard.h"

typedef struct pl_convert {
    int n;
    const double *seconds; /* [n][n] from, to; INFINITY: there is no way                         */
    const int16_t *row;    /* [n] row and column of each placement; NULL: they are in order      */
} pl_convert;

/* Between n placements in normal form. On the way a tensor may lie where the moves of one axis at a
 * time lead (and, of even parts, two axes that change places; and sums over several at once), split
 * by the digits that some of the n split: in the 512 placements that are met first, beside the n
 * (so many that only meshes of 3 axes and more have them). So a price may be higher than that of
 * pl_reshard_find, where it moves several axes at once; and lower where a sum is pending on an axis
 * at both ends: here it may be combined on the way. `arena` owns the table. */
pl_convert pl_convert_all(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                          const pl_placement at[], pl_arena *arena);

/* What has been found for tensors on one mesh. */
typedef struct pl_convert_memo pl_convert_memo;
pl_convert_memo *pl_convert_memo_new(const pl_mesh *m, pl_arena *arena);

/* The same. Where the ways are the same, the memo gives the same table. */
pl_convert pl_convert_find(pl_convert_memo *memo, pl_type type, const pl_shape *shape, int n,
                           const pl_placement at[]);

/* part[i * n + j]: is placement i what is left of j when more axes split it? So it is of itself.
 * The memo owns it. */
const bool *pl_convert_parts(pl_convert_memo *memo, pl_type type, const pl_shape *shape, int n,
                             const pl_placement at[]);

#endif
