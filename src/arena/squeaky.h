/* arena/squeaky.h - squeaky wheel optimization: lower layouts by placing all again and again, what
 * stuck out earlier.
 *
 * An order of placing, begun as that of a key, learns: a buffer that ends above the height aimed at
 * moves to a fraction of its position (Joslin & Clements 1999, "Squeaky wheel optimization").
 * Training steps, where a few large buffers fill a peak and thousands of small ones lie around it,
 * are mostly solved to the bound within some tens of placings; problems made to be hard are not. */
#ifndef PL_ARENA_SQUEAKY_H
#define PL_ARENA_SQUEAKY_H
#include "arena/boxes.h"

/* Places all at most `rounds` times, until a height of at most `enough` is found. Returns the
 * lowest height found, that of offset [boxes->n]; -1: no rounds, or fixed offsets overlap. */
PL_MUST_CHECK int64_t pl_squeaky_place(const pl_boxes *boxes, int64_t enough, int64_t rounds,
                                       int64_t offset[]);

#endif
