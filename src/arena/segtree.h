/* arena/segtree.h - the placed rectangles in a segment tree over time: for thousands of them.
 *
 * Time is cut into intervals, the leaves. A node keeps which bytes are taken at any time below it,
 * so that what is searched is few spans, not all that was placed. */
#ifndef PL_ARENA_SEGTREE_H
#define PL_ARENA_SEGTREE_H
#include "arena/boxes.h"

typedef struct pl_segtree pl_segtree;

pl_segtree *pl_segtree_new(const pl_boxes *boxes, pl_arena *arena);

/* As those of arena/placed.h. */
int64_t pl_segtree_find(pl_segtree *tree, const pl_boxed *item, bool low);
bool pl_segtree_fits(pl_segtree *tree, const pl_boxed *item, int64_t at);
void pl_segtree_add(pl_segtree *tree, const pl_boxed *item, int64_t at);

#endif
