/* run/progress.h - how far a step is: what its compute thread and its lanes tell each other.
 *
 * Two numbers: compute steps finished, an event that the stream of the compute thread raises, and
 * messages finished, all of the first so many, whichever lane they are on. */
#ifndef PL_RUN_PROGRESS_H
#define PL_RUN_PROGRESS_H
#include "base/arena.h"
#include "base/bell.h"
#include "run/device.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct pl_progress {
    const pl_device *device; /* of the compute thread's stream                                   */
    pl_event *computed;  /* at begun + compute steps finished                                    */
    int64_t begun, last; /* where the event is when this step begins, and when all is done that the
                            stream was given; it only rises                                      */
    int most;            /* messages of a step                                                   */
    bool *done;          /* [most] of this step, in no order                                     */
    int n;               /* of this step; done[0, finished) are set                              */
    atomic_int finished;
    pthread_mutex_t lock; /* of done, and of who raises finished                                 */
    atomic_bool failed;  /* err is set and final: nobody starts anything more                    */
    pl_err err;          /* of the first lane that failed; read after failed                     */
    pl_bell bell;        /* of the compute thread and the lanes to the host                      */
    pl_bell *lane;       /* of the thread of the messages between ranks; NULL: none              */
} pl_progress;

/* `arena` owns the books. Fails as event_new does. */
PL_MUST_CHECK bool pl_progress_open(pl_progress *p, pl_stream *stream, int most, pl_bell *lane,
                                    pl_arena *arena, pl_err *err);
void pl_progress_close(pl_progress *p);

/* A step of n messages begins; no lane is in one. */
void pl_progress_begin(pl_progress *p, pl_stream *stream, int n);

/* Are so many compute steps and so many messages finished? */
bool pl_progress_reached(pl_progress *p, int computed, int messages);

void pl_progress_finish(pl_progress *p, int message);
void pl_progress_fail(pl_progress *p, const pl_err *err);

/* Wakes all threads of the rank: something has come that one of them may wait for. */
void pl_progress_ring(pl_progress *p);

/* A wait for something to come. */
typedef struct pl_wait {
    pl_bell *bell; /* rings when it does; NULL: nobody says so                                   */
    int tries;     /* so far; back to 0 when something came                                      */
    uint64_t heard;
} pl_wait;

/* Called each time that nothing has come: spins, then yields, then takes naps of 50 microseconds,
 * and after a few of them sleeps until the bell rings; without one naps become longer, up to 0.8
 * milliseconds. More ranks than cores must not starve the one that computes. */
void pl_back_off(pl_wait *w);

#endif
