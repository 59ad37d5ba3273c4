/* evict/bound.h - how fast a schedule within a budget can be at most, and the price of memory.
 *
 * In the given order item i, used at ops p and q and not between, is needed again after op t for p
 * < t < q. If all that is so at t, with what op t itself uses, is more than the budget, some of it
 * is absent when op t first runs, and has to be made again or copied in before q first runs. Pairs
 * (p, q) of one item do not overlap, so this costs each pair at least its share of one run or
 * copy: a linear program that covers the excess of every step by pairs, fractions allowed. Each
 * vector of prices y (seconds per byte and step) bounds it from below:
 *
 *   sum_t y_t excess_t + sum_pairs min(0, cost - bytes sum_{p < t < q} y_t)
 *
 * An op that makes several items divides its seconds among them by bytes, an item with several
 * pairs its copy out. With a link the time is no less than any weighted mean of compute, copies
 * out and copies in; the best of some weights is taken. Source: the covering program is the
 * relaxation of Checkmate (Jain et al., MLSys 2020) to presence at the first run of each op;
 * prices by the subgradient method (Held, Wolfe, Crowder 1974). */
#ifndef PL_EVICT_BOUND_H
#define PL_EVICT_BOUND_H
#include "evict/items.h"

typedef struct pl_evict_bound {
    double seconds;  /* no schedule is faster                                               */
    double knapsack; /* ... by the worst step alone: <= seconds                             */
    double *price;   /* [n_op] seconds per byte, of compute; 0 where the budget does not bind */
} pl_evict_bound;

/* `rounds` of the subgradient method, each O(pairs). Copies count where the problem has a link and
 * `copies` is true, runs again where `runs` is. `arena` owns the prices. */
pl_evict_bound pl_evict_bound_find(const pl_evict_items *items, int64_t budget, bool runs,
                                   bool copies, int rounds, pl_arena *arena);

#endif
