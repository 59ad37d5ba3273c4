/* arena/exact.h - is there a layout within a capacity? Found, proven not to be, or not known.
 *
 * A branch and bound of our own over floors (arena/floors.h) with ideas of MiniMalloc (Moffitt,
 * "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS
 * 2023) and of constraint search: take a valley, a section of which everything that may lie on its
 * floor lies there in all of its sections; then either one of these does, or the floor is not
 * used and rises to the next possible support. The choices exclude each other, so no layout is met
 * twice. The valley with the fewest choices comes first. */
#ifndef PL_ARENA_EXACT_H
#define PL_ARENA_EXACT_H
#include "arena/boxes.h"

typedef struct pl_exact pl_exact;

typedef enum pl_outcome {
    PL_EXACT_NONE,  /* no layout fits: all was tried */
    PL_EXACT_FOUND,
    PL_EXACT_OPEN   /* out of nodes                  */
} pl_outcome;

/* NULL when the problem is beyond it: gaps that keep some bytes, thousands of buffers. `off`: the
 * techniques left out; effort: nodes in all, sizes the memory of failures. boxes must stay. */
pl_exact *pl_exact_new(const pl_boxes *boxes, unsigned off, int64_t effort, pl_arena *arena);

/* offset [boxes->n] is written when found. nodes is lowered by what was used. */
PL_MUST_CHECK pl_outcome pl_exact_try(pl_exact *x, int64_t capacity, int64_t *nodes,
                                      int64_t offset[]);

#endif
