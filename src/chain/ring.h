/* chain/ring.h - a chain with one copy of its block standing for all (the cyclic relaxation).
 *
 * Potentials are the same in every copy, so a ring of one copy, linked to itself, finds them: the
 * cost of the chain becomes a constant, a sum of tables whose least entries are zero for every copy
 * and every link, and a correction at the two ends, where links are missing. With the first and the
 * last copies written out a bound of the whole chain follows that takes no longer for more copies,
 * and a bound for each value. */
#ifndef PL_CHAIN_RING_H
#define PL_CHAIN_RING_H
#include "chain/chain.h"
#include "search/solve.h"

typedef struct pl_ring {
    const pl_chain *chain;
    pl_cost weights;
    int n_outside, n_block;
    pl_net *net;     /* outside, then the block; its costs are those of the chain / copies       */
    int at_block, at_link, at_every; /* the first edge of each kind; link by link in link_edge   */
    int *link_edge;  /* [links] the ring's edge, -1: a variable linked to itself                 */
    double *floor;   /* [links] least entry of such a one                                        */
    int64_t work;
} pl_ring;

/* NULL: nothing is legal. */
pl_ring *pl_ring_new(const pl_chain *chain, pl_cost weights, pl_arena *arena);

/* The ring with both ends, as a net: about the chain with all copies tied, divided by the copies.
 * NULL: nothing is legal. */
pl_net *pl_ring_tie(const pl_ring *ring, pl_arena *arena);

/* Outside, `depth` copies from either end, or all, as a net whose constants hold the bound of all
 * else, with room for `more` variables behind. */
pl_net *pl_ring_ends(const pl_ring *ring, int depth, int more, pl_arena *arena);

/* The potentials of earlier ends, and the bounds they found, for new ones of the same values. */
void pl_ring_go_on(const pl_ring *ring, pl_net *ends, const pl_net *before);

/* Sets ring->net->least of the block: how far a value in a copy that is not written out lifts
 * the chain above the bound of its ends, with the potentials as they are. */
void pl_ring_settle(const pl_ring *ring, pl_arena *arena);

/* The whole chain costs at least this with value x of the ring's variable v in any copy; of ends
 * made with the potentials that the ring was settled with. */
double pl_ring_least(const pl_ring *ring, const pl_net *ends, int v, int x);

/* The first (or last) list's edge for the values that are left, without potentials. */
pl_net_table pl_ring_first(const pl_ring *ring, const pl_sum_edge *edge, pl_arena *arena);

/* Link l between neighbouring copies with the potentials that the ring found. */
pl_net_table pl_ring_link(const pl_ring *ring, int l, const double **to_a, const double **to_b,
                          pl_arena *arena);

/* keep[v][x] for values of the ring whose bound is at most `most`. */
bool **pl_ring_below(const pl_ring *ring, const pl_net *ends, double most, pl_arena *arena);

/* Clears keep[v][x] where another kept value of the block is at least as good in every copy, be it
 * the first, a middle or the last one, or of a variable outside that touches all copies alike. */
void pl_ring_dominate(const pl_ring *ring, bool **keep, pl_arena *arena);

/* Only values of the ring with keep[v][x]; NULL when a variable would have none. *ends, unless
 * `ends` is NULL, loses the same values and keeps its potentials. */
pl_ring *pl_ring_keep(const pl_ring *ring, bool **keep, pl_net **ends, pl_arena *arena);

#endif
