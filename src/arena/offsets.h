/* arena/offsets.h - place the buffers of one device in a single block of memory.
 *
 * Pure data: knows no graph and no program. */
#ifndef PL_ARENA_OFFSETS_H
#define PL_ARENA_OFFSETS_H
#include "base/arena.h"
#include <stdint.h>

/* On steps [from, to) of its life a buffer needs only its bytes [low, high); none when they are
 * equal. Gaps lie inside of the life, sorted, without overlap. */
typedef struct pl_gap {
    int64_t from, to;
    int64_t low, high; /* 0 <= low <= high <= bytes */
} pl_gap;

/* What few buffers ask for; all zero asks for nothing. */
typedef struct pl_wish {
    int64_t align;        /* the offset is a multiple of it; 0: of the alignment of all only      */
    bool is_fixed;        /* it must lie at `fixed`, which is a multiple of both alignments       */
    bool is_hinted;       /* it might lie well at `hint`                                          */
    int64_t fixed, hint;  /* bytes from the start of the block                                    */
    int n_gaps;
    const pl_gap *gap;
} pl_wish;

/* Live on [birth, death): program steps, death excluded; birth < death, bytes >= 0. */
typedef struct pl_buf {
    int64_t birth, death;
    int64_t bytes;
    const pl_wish *wish; /* or NULL */
} pl_buf;

typedef struct pl_offsets {
    int64_t height;  /* bytes in total, <= capacity                                        */
    int64_t bound;   /* no layout is lower: the largest sum of bytes live at one step, or
                        what the search has proven beyond that                             */
    int64_t *offset; /* [n] bytes from the start of the block, multiples of the alignment   */
    bool optimal;    /* height == bound: no smaller height exists                           */
    int64_t nodes;   /* of the exact search, 0 when it was not needed                       */
} pl_offsets;

/* The techniques. Each may change time, never an answer that the exact search has proven. The first
 * five are MiniMalloc's (Moffitt, ASPLOS 2023); canonical, section inference, dominance and hatless
 * are its words. */
enum {
    PL_OFFSETS_CANONICAL = 1, /* of equal buffers the first is the lowest */
    PL_OFFSETS_INFERENCE = 2, /* what is left at a step fits between its floor and the top */
    PL_OFFSETS_DOMINANCE = 4, /* nothing hangs in the air: it could be lower */
    PL_OFFSETS_HATLESS = 8, /* a dead end that the last choice has no part in is no fault of it */
    PL_OFFSETS_DECOMPOSE = 16, /* buffers that no longer meet in time are placed apart */
    PL_OFFSETS_BUFFER_FLOORS = 32, /* as INFERENCE, with each buffer's floor, not the step's */
    PL_OFFSETS_MEMO = 64, /* a rest that failed is not tried again */
    PL_OFFSETS_RESTARTS = 128, /* restarts by several rules of choice, with growing limits */
    PL_OFFSETS_SQUEAKY = 256, /* placing again, what stuck out earlier (arena/squeaky.h) */
    PL_OFFSETS_ALL = 511
};

typedef struct pl_offsets_options {
    int64_t effort; /* nodes of the exact search in all; 0: none. Over 400 buffers (of which
                       few such problems are solved) it gets (400 / n)^2 of them    */
    int64_t pairs;  /* of buffers that are compared when placing again, n^2 each time;
                       0: never                                                     */
    unsigned off;   /* techniques left out, of the PL_OFFSETS_... above             */
    unsigned keys;  /* greedy keys used, bits 1 << PL_KEY_... of arena/keys.h; 0:
                       PL_KEYS_DEFAULT, or PL_KEY_BEST alone for over 20,000 */
    bool any;       /* stop at the first layout within the capacity                */
    double slack;   /* stop at one that is above the bound by no more than this share */
} pl_offsets_options;

/* Place n buffers so that no two that are live together overlap. Best fit: large buffers first,
 * each in the tightest gap that its neighbours in time leave (the rule of TensorFlow Lite's "greedy
 * by size" planner, Pisarchyk & Lee 2020, arXiv:2001.03288, algorithm 3). If that is above what is
 * live at a step they are placed again some times, as pl_offsets_solve does; only if that is above
 * the capacity other greedy keys are tried.
 *
 *   buf       [n] in any order; not kept after the call
 *   align     bytes, a power of two; sizes are rounded up to it
 *   capacity  bytes of device memory
 *   slack     so much above what is live, as a share of it, is low enough, if within the capacity;
 *             1e-4 at least
 *   out       owns layout->offset
 *
 * Fails with PL_EINFEASIBLE; the message gives the step where most memory is live, the bytes live
 * there, the height found and the capacity. */
PL_MUST_CHECK bool pl_offsets_place(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                                    double slack, pl_arena *out, pl_offsets *layout, pl_err *err);

/* The lowest layout that the effort finds: the first greedy key, placing again, other keys, then an
 * exact search at capacity = bound, upwards while it proves that nothing fits, between bound and
 * best when its effort ends (which proves nothing). Each is tried only above the bound. The same
 * input gives the same output: effort is counted in pairs and nodes. With gaps that keep some bytes
 * there is no exact search; the bound still holds. Otherwise as above. */
PL_MUST_CHECK bool pl_offsets_solve(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                                    const pl_offsets_options *options, pl_arena *out,
                                    pl_offsets *layout, pl_err *err);

/* Independent check of all that live together; shares no code with the above. The bound must
 * be at least the bytes live at some step and at most the height, `optimal` must say whether it is
 * the height; what a search proved beyond that it cannot judge. Fails with PL_EMISMATCH. */
PL_MUST_CHECK bool pl_offsets_check(int n, const pl_buf buf[], int64_t align, int64_t capacity,
                                    const pl_offsets *layout, pl_err *err);

#endif
