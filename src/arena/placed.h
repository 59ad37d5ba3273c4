/* arena/placed.h - the placed rectangles, from the bottom up, and the gaps between them. */
#ifndef PL_ARENA_PLACED_H
#define PL_ARENA_PLACED_H
#include "arena/boxes.h"

typedef struct pl_placed pl_placed;

/* by_time: find them by time (arena/segtree.h), which pays for thousands of short lives; the
 * results are the same. */
pl_placed *pl_placed_new(const pl_boxes *boxes, bool by_time, pl_arena *arena);

/* Offset of the tightest gap that holds the item (of equal ones the lowest), or with `low` of the
 * lowest; where there is none, the top of all that it meets in time. */
int64_t pl_placed_find(pl_placed *placed, const pl_boxed *item, bool low);

bool pl_placed_fits(pl_placed *placed, const pl_boxed *item, int64_t at);
void pl_placed_add(pl_placed *placed, const pl_boxed *item, int64_t at);

#endif
