/* arena/bays.h - the placed rectangles by time: for thousands of them.
 *
 * Time is cut into bays. A tree over these keeps which bytes are taken at any time in a stretch of
 * them, so that what is searched is few spans, not all that was placed. */
#ifndef PL_ARENA_BAYS_H
#define PL_ARENA_BAYS_H
#include "arena/boxes.h"

typedef struct pl_bays pl_bays;

pl_bays *pl_bays_new(const pl_boxes *p, pl_arena *a);

/* As those of arena/shelf.h. */
int64_t pl_bays_find(pl_bays *b, const pl_boxed *x, bool low);
bool pl_bays_fits(pl_bays *b, const pl_boxed *x, int64_t at);
void pl_bays_add(pl_bays *b, const pl_boxed *x, int64_t at);

#endif
