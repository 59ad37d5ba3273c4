/* arena/shelf.h - the placed rectangles, from the bottom up, and the gaps between them. */
#ifndef PL_ARENA_SHELF_H
#define PL_ARENA_SHELF_H
#include "arena/boxes.h"

typedef struct pl_shelf pl_shelf;

/* by_time: find them by time (arena/bays.h), which pays for thousands of short lives; the results
 * are the same. */
pl_shelf *pl_shelf_new(const pl_boxes *p, bool by_time, pl_arena *a);

/* Offset of the tightest gap that holds the item (of equal ones the lowest), or with `low` of the
 * lowest; where there is none, the top of all that it meets in time. */
int64_t pl_shelf_find(pl_shelf *s, const pl_boxed *x, bool low);

bool pl_shelf_fits(pl_shelf *s, const pl_boxed *x, int64_t at);
void pl_shelf_add(pl_shelf *s, const pl_boxed *x, int64_t at);

#endif
