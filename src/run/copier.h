/* run/copier.h - copies between a device and the memory of its host, one way, beside kernels and
 * messages: a thread with a stream of its own, which does its copies in order. */
#ifndef PL_RUN_COPIER_H
#define PL_RUN_COPIER_H
#include "run/lane.h"
#include "run/progress.h"

typedef struct pl_copier pl_copier;

/* The copies of this collective, PL_TO_HOST or PL_FROM_HOST. A rate above 0 is one that it keeps
 * to, in bytes per second: a slow link on a machine that has none. The progress outlives it. Fails
 * with PL_ERUN. `arena` owns it. */
PL_MUST_CHECK bool pl_copier_new(pl_progress *progress, int rank, pl_collective way, double rate,
                                 pl_arena *arena, pl_copier **out, pl_err *err);
void pl_copier_free(pl_copier *c); /* NULL is fine */

/* Its copies among the messages of a step (pl_progress_begin), which stay the caller's. */
void pl_copier_begin(pl_copier *c, const pl_lane_message *messages);
/* Has it nothing more to do in this step? */
bool pl_copier_idle(const pl_copier *c);
int64_t pl_copier_bytes(const pl_copier *c); /* copied so far; of one that is idle */

#endif
