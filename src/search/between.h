/* search/between.h - choices of a chain between known ones.
 *
 * A chain has two costs, and sought is a choice whose larger cost is least. A price on both finds
 * choices that are cheap in the one and choices that are cheap in the other; what lies between is a
 * mixture, in part like these and in part like those. Where unlike parts meet something is added,
 * so good mixtures have few such places. All here find choices, not bounds. */
#ifndef PL_SEARCH_BETWEEN_H
#define PL_SEARCH_BETWEEN_H
#include "search/chain.h"

typedef struct pl_between {
    const pl_chain *one, *other; /* they differ only in their times; the larger one counts       */
    const pl_chain *priced;      /* price * one + (1 - price) * other                            */
    double price;                /* in [0, 1]                                                    */
    int n_known;
    int *const *known;
} pl_between;

/* Both return a choice whose larger time is below `most`, or NULL; *work grows. */

/* For many copies: short chains with one change, from copies like the cheapest choice at the price
 * of those with more of the one time to copies like that of those with more of the other, are made
 * good. Then a whole copy is one value, and paths over the copies that count both times give the
 * best choice of all copies that were seen. */
int *pl_between_copies(const pl_between *p, double most, int64_t *work, pl_arena *out);

/* For any chain, which is written out: among the values of known choices the least sum with a price
 * that rises (or falls) along the chain. It is like one choice at one end and like another at the
 * other end, and changes where that costs least; both times are made equal by moving the place
 * where the price is the given one. */
int *pl_between_tilts(const pl_between *p, double most, int64_t *work, pl_arena *out);

#endif
