/* order/segment.h - where the problem of ordering tasks falls apart. */
#ifndef PL_ORDER_SEGMENT_H
#define PL_ORDER_SEGMENT_H
#include "order/index.h"

/* key[i]: the task at step i of `order` precedes or follows every other task, so it has step i in
 * every order, and the steps before and after it are separate problems. O(n + edges). */
void pl_segment_find(const pl_index *index, const int order[], bool key[]);

#endif
