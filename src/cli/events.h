/* cli/events.h - named numbers over the steps of a run, as an event file of TensorBoard.
 *
 * Each run makes a file of its own, FOLDER/events.out.tfevents.SECONDS.HOST.PID.pleat; TensorBoard
 * reads all files of a folder as one run. */
#ifndef PL_CLI_EVENTS_H
#define PL_CLI_EVENTS_H
#include "base/arena.h"
#include <stdint.h>

typedef struct pl_events {
    const char *path; /* NULL: closed                                                    */
    int fd;
    bool resumed;     /* nothing is written yet, and its step is where this file goes on */
    bool failed;      /* a record did not get through: said once, the run goes on        */
} pl_events;

typedef struct pl_events_value {
    const char *tag; /* at most 64 bytes */
    double value;
} pl_events_value;

enum { PL_EVENTS_MOST = 8 }; /* values of a step */

/* Make a file in the folder, and the folder if it is not there. With `resume` it goes on where its
 * first step is: TensorBoard drops what older files have from that step on. Fails with PL_EINPUT.
 * `a` owns the path. */
PL_MUST_CHECK bool pl_events_open(const char *folder, bool resume, pl_arena *a, pl_events *out,
                                  pl_err *err);
/* Whether it could be made: for the time before a long search. */
PL_MUST_CHECK bool pl_events_check(const char *folder, pl_err *err);
void pl_events_close(pl_events *s); /* {0} is fine */

/* One record, whole in the file when this returns, or not there at all. */
void pl_events_add(pl_events *s, int64_t step, int n, const pl_events_value value[]);

#endif
