/* run/lane.h - the lanes of messages: a thread of its own per rank that keeps messages moving while
 * kernels run (MPI progresses only inside MPI calls, and so do all our transports), and one for
 * each way between the device and its host's memory, and for the host's kernels (hostlane.h).
 *
 * The first carries what goes to other stages and what comes from there too, each in an order of
 * its own. It alone touches the pl_comm after pl_lane_new. The compute thread and the lanes meet in
 * two numbers (progress.h). */
#ifndef PL_RUN_LANE_H
#define PL_RUN_LANE_H
#include "program/program.h"
#include "run/comm.h"
#include "run/device.h"

typedef struct pl_lane pl_lane;

/* A message of a program as the transport wants it; `after` and `wait` as in pl_step. */
typedef struct pl_lane_message {
    pl_message message;
    pl_group *group;     /* NULL: none between ranks                                          */
    int after, wait;
    int lane;            /* pl_step_lane                                                      */
    void (*work)(void *of); /* a kernel of the host, which `message` says nothing of; else NULL */
    void *work_of;
    double *begin, *end; /* where the lane writes the clock when the message is started, and when it
                            is finished; NULL: nowhere */
} pl_lane_message;

typedef struct pl_lane_options {
    int most;         /* messages of a step, at most                                    */
    bool host;        /* copies to and from the host's memory may be among them,        */
    bool host_work;   /* and kernels that it runs                                       */
    double host_rate; /* bytes per second that copies keep to; 0: as fast as they can be */
    double link_rate; /* the same of what comes from other ranks, one message after another */
} pl_lane_options;

/* Start the threads. The comm (NULL: one rank alone) stays the caller's; it is used only by the
 * lane until pl_lane_free, which ends the threads. So does the stream, by then without work, which
 * compute steps run on. */
PL_MUST_CHECK bool pl_lane_new(pl_comm *comm, pl_stream *stream, const pl_lane_options *options,
                               pl_arena *arena, pl_lane **out, pl_err *err);
void pl_lane_free(pl_lane *lane); /* NULL is fine */

/* A step begins, behind what the stream has to do: its messages, in order. The array stays the
 * caller's, as do the times, which are whole after pl_lane_agree. */
void pl_lane_begin(pl_lane *lane, int n, const pl_lane_message *messages);
/* The stream was given `n` compute steps: messages that wait for them may start when it has done
 * them. */
void pl_lane_advance(pl_lane *lane, int n);
/* Block until `n` messages of this step are finished. */
PL_MUST_CHECK bool pl_lane_wait(pl_lane *lane, int n, pl_err *err);
/* The step border: wait for every message, then agree with all ranks on the worst error (err may
 * hold this rank's) and on a wish (pl_comm_agree_wish). On return all hold the same verdict. */
PL_MUST_CHECK bool pl_lane_agree(pl_lane *lane, int *wish, pl_err *err);

/* Seconds that pl_lane_wait and pl_lane_agree blocked so far: communication that compute did not
 * hide. */
double pl_lane_exposed(const pl_lane *lane);
/* Bytes copied to and from the host so far; asked between steps. */
int64_t pl_lane_copied(const pl_lane *lane);
/* Seconds in which at least one message between ranks was open. */
double pl_lane_busy(const pl_lane *lane);

#endif
