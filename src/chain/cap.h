/* chain/cap.h - the fastest choice of a chain within a memory cap, by the price of memory
 * (search/cap.h).
 *
 * What gap prices leave is looked for among mixtures (mix.h); the price comes from the tied chain,
 * whose best price is about the same. */
#ifndef PL_CHAIN_CAP_H
#define PL_CHAIN_CAP_H
#include "chain/chain.h"
#include "search/cap.h"

struct pl_ring;

/* What solves a folded chain at a price, each price from the potentials of the last. */
typedef struct pl_chain_solver {
    const pl_chain *chain;
    void *self;
    pl_minimum (*solve)(void *self, pl_cost weights, const pl_search_options *options,
                        pl_arena *out);
    const struct pl_ring *(*potentials)(const void *self); /* of the last price; may be NULL      */
} pl_chain_solver;

/* As pl_chain_min; options with their defaults written out. `start`, unless NULL, is a known choice
 * of the chain. */
PL_MUST_CHECK bool pl_cap_chain(const pl_chain_solver *solver, double cap,
                                const pl_search_options *options, pl_arena *out, pl_answer *answer,
                                pl_err *err);

#endif
