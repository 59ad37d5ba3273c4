/* chain/splice.h - choices of a chain made of pieces of known ones: the first copies are like those
 * of one, the next like those of another, the last like those of a third.
 *
 * What prices find are corners of the convex hull of (time, memory); of many copies, so many like
 * the one corner and so many like the other come near any point between them. */
#ifndef PL_CHAIN_SPLICE_H
#define PL_CHAIN_SPLICE_H
#include "chain/chain.h"

/* A chain whose time is the larger of two sums: the same but for the times in its tables. One sum
 * is given twice. */
typedef struct pl_chain_pair {
    const pl_chain *sum[2];
} pl_chain_pair;

/* The larger time, and the memory. */
pl_cost pl_chain_pair_cost(pl_chain_pair pair, const int *value);

/* The fastest splice within the cap of known[n_known], which may be many of the same; false: none
 * is faster than *cost, which with value[] is only set when one is. Time: n^3 copies^2 sums. */
bool pl_chain_splice(pl_chain_pair pair, double cap, int n_known, const int *const *known,
                     int *value, pl_cost *cost);

#endif
