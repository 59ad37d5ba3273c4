/* chain/among.h - a chain in which each variable has no other values than known choices give it.
 *
 * The choices known around the best one differ in few variables, so that their mixtures, from any
 * copy to any other, are few, and the best of these is soon found. (The restricted master problem
 * of column generation.) */
#ifndef PL_CHAIN_AMONG_H
#define PL_CHAIN_AMONG_H
#include "chain/pair.h"

typedef struct pl_among {
    const pl_chain *of;   /* one of the pair                                                     */
    pl_chain_pair pair;   /* the same with fewer values                                          */
    int *const *value;    /* [outside, then block][values] those of the pair                     */
} pl_among;

/* Of n known choices, at least one; a variable of the block has in every copy what any copy has. */
pl_among pl_chain_among(pl_chain_pair pair, int n, int *const known[], pl_arena *arena);

/* A choice there as one of the pair's. */
int *pl_among_choice(const pl_among *among, const int *value, pl_arena *arena);

#endif
