/* search/few.h - a chain with the values of a few known choices only.
 *
 * What a few good choices have in common stays, what they differ in is free: between them lie
 * choices that are like the one here and like the other there. Such a chain is small. */
#ifndef PL_SEARCH_FEW_H
#define PL_SEARCH_FEW_H
#include "search/chain.h"

typedef struct pl_few {
    pl_chain chain;
    int **value; /* [variables outside + of the block][n_values] their numbers in the whole       */
} pl_few;

/* Of known[n], values of choices of `c`. A variable of the block gets what it has in any copy. With
 * `other`, a chain that differs from `c` only in its tables, memory is the other's time: a choice
 * then costs (c, other). */
pl_few pl_few_of(const pl_chain *c, const pl_chain *other, int n, int *const *known, pl_arena *a);

/* The choice of the whole chain. */
int *pl_few_whole(const pl_few *p, const int *value, pl_arena *out);

#endif
