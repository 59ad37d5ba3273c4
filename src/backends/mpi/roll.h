/* backends/mpi/roll.h - the roll-call: who is still there when a message does not finish?
 *
 * MPI does not say who is missing in a collective. So the rank that ran out of time tells every
 * other rank, on a communicator of its own, what it waits for. Whoever hears that tells everybody
 * the same about itself. All wait a second for such notes; ranks without a note are gone. Then all
 * fail. */
#ifndef PL_BACKENDS_MPI_ROLL_H
#define PL_BACKENDS_MPI_ROLL_H
#include "run/request.h"

typedef struct pl_roll pl_roll;

/* Collective over MPI_COMM_WORLD. Returns a code of MPI. Lives in the arena. */
int pl_roll_new(pl_arena *a, pl_roll **out);
void pl_roll_free(pl_roll *r); /* not after a roll-call */

/* Did a rank begin a roll-call? Asks MPI at most once in a millisecond. */
bool pl_roll_heard(pl_roll *r, double now);

/* Was this rank stopped and woken? The others have given it up, and their notes are old. */
bool pl_roll_was_away(const pl_roll *r);

/* Takes part. oldest: the message that waits here, or NULL; caller: it is out of time. Returns
 * false with PL_ERUN after at most about a second. */
bool pl_roll_take(pl_roll *r, const pl_request *oldest, bool caller, double timeout_seconds,
                  pl_err *err);

#endif
