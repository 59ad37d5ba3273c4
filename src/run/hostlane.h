/* run/hostlane.h - a lane between a device and its host, beside compute steps and messages: copies
 * one way between their memories, or kernels that the host runs. A thread with a stream of its own,
 * which does them in order. */
#ifndef PL_RUN_HOSTLANE_H
#define PL_RUN_HOSTLANE_H
#include "run/lane.h"
#include "run/progress.h"

typedef struct pl_hostlane pl_hostlane;

/* What is on `lane`: PL_LANE_OUT, PL_LANE_IN or PL_LANE_HOST. A rate above 0 is one that copies
 * keep to, in bytes per second: a slow link on a machine that has none. The progress outlives it.
 * Fails with PL_ERUN. `arena` owns it. */
PL_MUST_CHECK bool pl_hostlane_new(pl_progress *progress, int rank, int lane, double rate,
                                   pl_arena *arena, pl_hostlane **out, pl_err *err);
void pl_hostlane_free(pl_hostlane *h); /* NULL is fine */

/* What is its own among the messages of a step (pl_progress_begin), which stay the caller's. */
void pl_hostlane_begin(pl_hostlane *h, const pl_lane_message *messages);
/* Has it nothing more to do in this step? */
bool pl_hostlane_idle(const pl_hostlane *h);
int64_t pl_hostlane_bytes(const pl_hostlane *h); /* copied so far; of one that is idle */

#endif
