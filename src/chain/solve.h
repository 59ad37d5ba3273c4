/* chain/solve.h - the least weighted cost of a chain of 3 or more copies.
 *
 * Rounds of: potentials of the ring; the bound of the whole chain with its ends; a choice with
 * all copies alike; values whose bound is no better than the best choice go; what is left is
 * solved exactly (ring_solve.h) once that is cheap. Where a round changes little, the values
 * nearest to the bound are solved exactly, and more copies are written out. */
#ifndef PL_CHAIN_SOLVE_H
#define PL_CHAIN_SOLVE_H
#include "chain/ring.h"

pl_minimum pl_chain_solve(const pl_chain *chain, pl_cost weights, const pl_search_options *options,
                          pl_arena *out);

#endif
