/* order/forced.h - what must be live during a task, whatever the order. */
#ifndef PL_ORDER_FORCED_H
#define PL_ORDER_FORCED_H
#include "order/index.h"

/* The working set: bytes that the busiest task itself touches, and the base. */
int64_t pl_forced_working(const pl_index *index);

/* forced[t]: bytes of the tensors with a user among t and what must precede it (or there from the
 * start) and a user among t and what must follow it (or kept to the end). Returns the largest; each
 * is a lower bound on every peak and at least the working set of t. `order` is any order of the
 * tasks. O(m / 64 * edges) time, O(n) memory. */
int64_t pl_forced_live(const pl_index *index, const int order[], int64_t forced[]);

#endif
