/* chain/splice.h - choices of a chain made of pieces of known ones: the first copies are like those
 * of one, the next like those of another, the last like those of a third.
 *
 * What prices find are corners of the convex hull of (time, memory); of many copies, so many like
 * the one corner and so many like the other come near any point between them. */
#ifndef PL_CHAIN_SPLICE_H
#define PL_CHAIN_SPLICE_H
#include "chain/pair.h"

/* The fastest splice within the cap of known[n_known], which may be many of the same; false: none
 * is faster than *cost, which with value[] is only set when one is. Time: n^3 copies^2 sums. */
bool pl_chain_splice(pl_chain_pair pair, double cap, int n_known, const int *const *known,
                     int *value, pl_cost *cost);

#endif
