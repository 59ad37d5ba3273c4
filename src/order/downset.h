/* order/downset.h - exact search for the least peak of a few tasks. */
#ifndef PL_ORDER_DOWNSET_H
#define PL_ORDER_DOWNSET_H
#include "order/index.h"

typedef struct pl_downset_limits {
    int64_t floor;  /* bytes: a bound that is known; what needs no more costs nothing     */
    int64_t below;  /* bytes: only orders of a lower peak are wanted                      */
    int states;     /* sets of tasks that may be kept                                     */
    bool dominance; /* run at once what fits and ends with no more memory; always exact   */
} pl_downset_limits;

/* Search the sets of tasks that can have run, least peak first (a shortest path where the length is
 * the largest need on the way; as Serenity's dynamic programme, Ahn et al., MLSys 2020, in another
 * order).
 *
 *   order   in: any order of the tasks; out, when the result is true: one of least peak
 *   bound   bytes: no order has a lower peak, or `below` when none has a peak under it
 *   effort  loses one for each task run; the search stops when it is used up
 *
 * Returns whether an order of peak under limits->below was found; its peak is *bound. */
bool pl_downset_find(const pl_index *index, const pl_downset_limits *limits, int order[],
                     int64_t *bound, int64_t *effort);

#endif
