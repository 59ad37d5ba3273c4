/* data/ahead.h - pictures decoded ahead of use: a few threads decode what batches to come want, so
 * that whoever takes one rarely waits. What is taken is the same with any number of threads, or
 * none. */
#ifndef PL_DATA_AHEAD_H
#define PL_DATA_AHEAD_H
#include "data/picture.h"

/* Decode picture number `picture`, on any thread. `arena` owns the result. */
typedef bool pl_ahead_decode(const void *of, int64_t picture, pl_arena *arena, pl_picture *out,
                             pl_err *err);

typedef struct pl_ahead pl_ahead;

/* Starts n threads, or fewer where the system has no more; they wait until something is wanted.
 * `of` has to live as long. At most `bytes` of pictures are kept that nobody has taken. */
pl_ahead *pl_ahead_new(int n, int64_t bytes, pl_ahead_decode *decode, const void *of);
void pl_ahead_free(pl_ahead *a); /* ends the threads */

/* It will be taken, once for each call of this. A wish that finds no room is forgotten. */
void pl_ahead_want(pl_ahead *a, int64_t picture);

/* Call `use` with the picture, which is decoded here unless a thread has done it, or is at it.
 * Fails as `decode`. */
PL_MUST_CHECK bool pl_ahead_take(pl_ahead *a, int64_t picture,
                                 void (*use)(void *with, const pl_picture *p), void *with,
                                 pl_err *err);

#endif
