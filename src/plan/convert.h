/* plan/convert.h - what it takes to get from each placement of a tensor to each other one: the
 * cheapest paths of plan/reshard.h for all pairs at once, as a planner wants them. */
#ifndef PL_PLAN_CONVERT_H
#define PL_PLAN_CONVERT_H
#include "plan/reshard.h"

typedef struct pl_convert {
    int n;
    const double *seconds; /* [n][n] from, to; INFINITY: there is no way */
} pl_convert;

/* Between n placements in normal form. On the way a tensor may lie where the moves of one axis at a
 * time lead (and, of even parts, two axes that change places; and sums over several at once), split
 * by the digits that some of the n split; so a price may be higher than that of pl_reshard_find,
 * where it moves several axes at once; and lower where a sum is pending on an axis at both ends:
 * here it may be combined on the way. `arena` owns the table. */
pl_convert pl_convert_all(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                          const pl_placement at[], pl_arena *arena);

#endif
