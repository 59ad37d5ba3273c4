/* chain/reduce.h - a chain with the variables taken out that have few neighbours
 * (search/reduce.h), outside and, once for all copies, in the block. What links, ends or the
 * outside touch stays. */
#ifndef PL_CHAIN_REDUCE_H
#define PL_CHAIN_REDUCE_H
#include "chain/chain.h"
#include "search/reduce.h"

typedef struct pl_reduced_chain {
    pl_chain chain;               /* its times are weighted, and it has no memory                */
    pl_reduced *outside, *block;
} pl_reduced_chain;

/* The chain's tables live as long as `arena`, which owns all else. */
pl_reduced_chain *pl_chain_reduce(const pl_chain *chain, pl_cost weights, pl_arena *arena);

/* A choice of the whole chain as one of the smaller one, and the other way round. */
int *pl_reduced_chain_drop(const pl_reduced_chain *reduced, const int *value, pl_arena *arena);
int *pl_reduced_chain_restore(const pl_reduced_chain *reduced, const int *left, pl_arena *arena);

#endif
