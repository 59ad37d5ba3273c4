/* evict/inner.h - bytes inside a stage: what is used or made there, run by run. */
#ifndef PL_EVICT_INNER_H
#define PL_EVICT_INNER_H
#include "evict/retain.h"

typedef struct pl_evict_inner pl_evict_inner;

pl_evict_inner *pl_evict_inner_new(const pl_evict_items *items, pl_arena *arena);

void pl_evict_inner_touch(pl_evict_retain *retain, int stage); /* what it uses or runs changed */
void pl_evict_inner_settle(pl_evict_retain *retain);           /* sums again what was touched   */
void pl_evict_inner_all(pl_evict_retain *retain);              /* ... and all, of a new state   */

#endif
