/* policies/knapsack.h - which to take of things with a weight and a worth. */
#ifndef PL_POLICIES_KNAPSACK_H
#define PL_POLICIES_KNAPSACK_H
#include "evict/items.h"

/* The most worth of at most `capacity`: exact, over the pairs of weight and worth that no other
 * beats (Nemhauser and Ullmann 1969). Their number may grow exponentially; past 100,000 weights
 * are rounded up to a finer and finer share until they are fewer. taken [n]. Ties: of less weight,
 * then what comes first. */
void pl_evict_knapsack_take(int n, const int64_t weight[], const double worth[], int64_t capacity,
                      bool taken[]);

/* What to keep through the step where most bytes are present: of the items that are there and not
 * used by it, that have bytes, are not pinned and may be made again, those that save most seconds
 * within `capacity` bytes; and all others. kept [n_item]. */
void pl_evict_knapsack_keep(const pl_evict_items *items, int64_t capacity, bool kept[]);

#endif
