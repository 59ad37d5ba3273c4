/* order/precede.h - a bound from what must wait in every order that is better than one known. */
#ifndef PL_ORDER_PRECEDE_H
#define PL_ORDER_PRECEDE_H
#include "order/index.h"

/* A lower bound, at most `peak`, on the peak of every order. If task u ran before `task`, at least
 * the minimum cut at u with `task` on the far side would be live; where that is `peak` or more,
 * every better order runs u later. With such tasks on the far side the cut at `task` bounds all
 * better orders. An unfused update near the loss is the case in point: alone it may run at any
 * time, but not while all activations are live, so what it waits with is live too. */
int64_t pl_precede_bound(const pl_index *index, int task, int64_t peak, int64_t *effort);

#endif
