/* arena/caching.h - what PyTorch's caching allocator reserves for a sequence of allocations.
 *
 * Its rules (c10/cuda/CUDACachingAllocator, no expandable segments): sizes are rounded up to 512
 * bytes. Up to 1 MiB they come from segments of 2 MiB; up to 10 MiB from segments of 20 MiB; larger
 * ones from segments of their own size, rounded up to 2 MiB. The smallest free block that is large
 * enough is taken, the first segment's of equals, and split where 512 bytes (small) or more than
 * 1 MiB (large) would be left over. Free neighbours merge; segments are never given back. */
#ifndef PL_ARENA_CACHING_H
#define PL_ARENA_CACHING_H
#include "arena/offsets.h"

typedef struct pl_caching {
    int64_t reserved;  /* bytes of all segments in the end: what the process holds             */
    int64_t allocated; /* bytes, rounded, that were live together at most                      */
    int n_segments;
} pl_caching;

/* Replays n buffers: at each step those that die are freed, then those that are born allocated, in
 * the caller's order. Empty ones take nothing. */
pl_caching pl_caching_replay(int n, const pl_buf buf[]);

#endif
