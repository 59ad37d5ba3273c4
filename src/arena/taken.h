/* arena/taken.h - a set of bytes that are taken, as spans that neither overlap nor touch, by
 * rising offset. */
#ifndef PL_ARENA_TAKEN_H
#define PL_ARENA_TAKEN_H
#include "base/arena.h"
#include <stdint.h>

enum { PL_TAKEN_CHUNK = 32 };

typedef struct pl_span {
    int64_t low, high; /* low < high */
} pl_span;

typedef struct pl_chunk {
    int n;
    pl_span at[PL_TAKEN_CHUNK];
} pl_chunk;

/* What a walk asks of a chunk before it opens it. */
typedef struct pl_chunk_label {
    int64_t low;  /* of its first span                    */
    int64_t room; /* the largest gap between two of its spans */
    pl_chunk *chunk;
} pl_chunk_label;

/* Spans lie in chunks of a fixed size, none empty: adding one moves little. {0} is the empty
 * set. */
typedef struct pl_taken {
    int n, cap;
    pl_chunk_label *at;
    int n_spare; /* chunks at[n .. n + n_spare) that pl_taken_clear left */
} pl_taken;

void pl_taken_add(pl_taken *t, int64_t low, int64_t high, pl_arena *arena);

/* For a set made anew again and again, by rising low. */
void pl_taken_clear(pl_taken *t);
void pl_taken_append(pl_taken *t, int64_t low, int64_t high, pl_arena *arena);

/* Walks upwards: what it has passed it does not look at again. */
typedef struct pl_taken_walk {
    const pl_taken *taken;
    int chunk, at;
} pl_taken_walk;

/* The lowest offset from `floor` on at which `bytes` > 0 are free; *top: the end of that gap,
 * INT64_MAX: none. `floor` may not fall from call to call. */
int64_t pl_taken_rise(pl_taken_walk *walk, int64_t floor, int64_t bytes, int64_t *top);

#endif
