/* chain/ring_solve.h - the cheapest choice among the values that a ring holds, exactly.
 *
 * One copy is eliminated to a table over its two separators; the copies between the first and the
 * last are a power of it (power.h); outside, the first and the last copy are eliminated with
 * that. */
#ifndef PL_CHAIN_RING_SOLVE_H
#define PL_CHAIN_RING_SOLVE_H
#include "chain/ring.h"

typedef struct pl_ring_answer {
    bool fits;      /* false: the tables are larger than the options allow; nothing else is set  */
    double cost;    /* as the ring's potentials count it; INFINITY: no legal choice              */
    int *value;     /* as pl_chain_cost reads it; NULL: none                                     */
    int64_t work;
} pl_ring_answer;

/* `slack`: how far above the bound the answer may lie that is of interest. */
pl_ring_answer pl_ring_solve(const pl_ring *ring, double slack, const pl_search_options *options,
                             pl_arena *out);

#endif
