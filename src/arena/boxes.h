/* arena/boxes.h - buffers as what the placers see: ranked times, rounded sizes, gaps cut out.
 *
 * A buffer is one or more boxes, rectangles over time that move up and down together. */
#ifndef PL_ARENA_BOXES_H
#define PL_ARENA_BOXES_H
#include "arena/offsets.h"

typedef struct pl_box {
    int32_t from, to;  /* ranks of times                       */
    int64_t low, high; /* bytes from the offset of its buffer  */
} pl_box;

typedef struct pl_boxed {
    int64_t bytes;        /* rounded up to the alignment of all                  */
    int64_t align;        /* of the offset: least common multiple with its own   */
    int64_t fixed, hint;  /* -1: none                                            */
    int64_t birth, death; /* as given: the keys look at durations                */
    int32_t from, to;     /* their ranks                                         */
    int first, n_boxes;  /* in boxes->box; none when it is empty             */
} pl_boxed;

typedef struct pl_boxes {
    int n, n_boxes, n_times;
    pl_boxed *item;       /* [n] in the order of the caller                             */
    pl_box *box;     /* [n_boxes] by item, then by time                           */
    int64_t bound;       /* no layout is lower                                         */
    int64_t live, step;  /* bytes live where most are, and the first such step         */
    int64_t unit;        /* heights worth looking at are multiples of it               */
    bool has_windows;    /* some box is not the whole of its buffer                  */
} pl_boxes;

/* False when the sizes or offsets do not fit 63 bits together: below that no height overflows. */
PL_MUST_CHECK bool pl_boxes_make(int n, const pl_buf buf[], int64_t align, pl_arena *arena,
                                 pl_boxes *boxes);

/* The least multiple of align that is >= at; align need not be a power of two. */
static inline int64_t pl_boxes_round(int64_t at, int64_t align)
{
    if (align == 1) return at;
    int64_t over = at % align;
    return over ? at + align - over : at;
}

#endif
