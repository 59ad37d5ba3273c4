/* data/ahead.h - pictures decoded ahead of use: threads decode what batches to come want, in the
 * order in which it was wanted, so that whoever takes one rarely waits. What is taken is the same
 * with any number of threads, or none, and however often that changes. */
#ifndef PL_DATA_AHEAD_H
#define PL_DATA_AHEAD_H
#include "data/picture.h"

/* The most threads; the most pictures that are wanted at a time. */
enum { PL_AHEAD_THREADS = 64, PL_AHEAD_PICTURES = 4096 };

/* Decode picture number `picture`, on any thread. `arena` owns the result. */
typedef bool pl_ahead_decode(const void *of, int64_t picture, pl_arena *arena, pl_picture *out,
                             pl_err *err);

typedef struct pl_ahead pl_ahead;

/* With n threads (pl_ahead_set_threads). `of` has to live as long. At most about `bytes` of
 * pictures are kept that nobody has taken: one is decoded only where one more of the largest so
 * far has room. */
pl_ahead *pl_ahead_new(int n, int64_t bytes, pl_ahead_decode *decode, const void *of);
void pl_ahead_free(pl_ahead *a); /* ends the threads */

/* From here on n threads decode, or fewer where n is above PL_AHEAD_THREADS or the system has no
 * more: that is no error. They are started when they are first asked for; those that are too many
 * end what they are at, and sleep. */
void pl_ahead_set_threads(pl_ahead *a, int n);

/* It will be taken, once for each call of this. A wish that finds no room is forgotten. */
void pl_ahead_want(pl_ahead *a, int64_t picture);
void pl_ahead_drop(pl_ahead *a, int64_t picture); /* one such wish is withdrawn */

/* Call `use` with the picture, which is decoded here unless a thread has done it, or is at it.
 * Fails as `decode`. */
PL_MUST_CHECK bool pl_ahead_take(pl_ahead *a, int64_t picture,
                                 void (*use)(void *with, const pl_picture *p), void *with,
                                 pl_err *err);

/* What decoding took, whichever threads did it, for the pictures taken since this was last asked.
 * One that several take was decoded once. */
typedef struct pl_ahead_spent {
    double seconds, cpu; /* from a decoder's beginning to its end; of that on a processor */
    int64_t pictures;
} pl_ahead_spent;
pl_ahead_spent pl_ahead_ask_spent(pl_ahead *a);

#endif
