/* memory/layout.h - place the buffers of one device in a single block of memory.
 *
 * Pure data: knows no graph and no program. */
#ifndef PL_MEMORY_LAYOUT_H
#define PL_MEMORY_LAYOUT_H
#include "base/arena.h"
#include <stdint.h>

/* Live on [birth, death): program steps, death excluded; birth < death, bytes >= 0. */
typedef struct pl_buf {
    int32_t birth, death;
    int64_t bytes;
} pl_buf;

typedef struct pl_layout {
    int64_t height;  /* bytes in total, <= capacity                                        */
    int64_t bound;   /* no layout is lower: the largest sum of bytes live at one step       */
    int64_t *offset; /* [n] bytes from the start of the block, multiples of the alignment   */
} pl_layout;

/* Place n buffers so that no two that are live together overlap. Best fit: large buffers first,
 * each in the tightest gap that its neighbours in time leave (the rule of TensorFlow Lite's
 * "greedy by size" planner, Pisarchyk & Lee 2020, arXiv:2001.03288, algorithm 3).
 *
 *   buf       [n] in any order; not kept after the call
 *   align     bytes, a power of two; sizes are rounded up to it
 *   capacity  bytes of device memory
 *   out       owns layout->offset
 *
 * Fails with PL_EINFEASIBLE; the message gives the step where most memory is live, the bytes live
 * there, the height found and the capacity. */
PL_MUST_CHECK bool pl_layout_place(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                                   pl_arena *out, pl_layout *layout, pl_err *err);

/* Independent check of all pairs that live together; shares no code with pl_layout_place. Fails
 * with PL_EMISMATCH. */
PL_MUST_CHECK bool pl_layout_check(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                                   const pl_layout *layout, pl_err *err);

#endif
