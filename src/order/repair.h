/* order/repair.h - lower an order's peak by exact search in windows around the steps at the
 * peak. */
#ifndef PL_ORDER_REPAIR_H
#define PL_ORDER_REPAIR_H
#include "order/index.h"

/* Reorders the tasks of short runs of steps until no window around a step at the peak can be
 * lowered, the peak is `floor` or less, or the effort is used up. Never raises the peak; returns
 * it. */
int64_t pl_repair_order(const pl_index *index, int order[], int64_t floor, bool dominance,
                        int64_t *effort);

#endif
