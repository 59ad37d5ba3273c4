/* search/copies.h - the least weighted cost of a chain of 3 or more copies.
 *
 * Rounds of: potentials of the ring, the bound of the whole chain with its ends, and an exact
 * answer among the values whose bound is below a threshold. An answer at or below the threshold is
 * the least of all; else it is a better incumbent, and values above it go for good. */
#ifndef PL_SEARCH_COPIES_H
#define PL_SEARCH_COPIES_H
#include "search/ring.h"

/* `like`, unless NULL, is a fold of the same chain with other weights whose potentials are a start.
 * *whole, unless `whole` is NULL, gets the ring with all its values and the potentials found, in
 * the arena `keep`. */
pl_found pl_copies_solve(const pl_chain *c, pl_cost w, const pl_search_options *o,
                         const pl_ring *like, pl_arena *out, pl_ring **whole, pl_arena *keep);

#endif
