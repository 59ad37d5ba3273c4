/* backends/mpi/mpi.h - the transport over MPI 3.1: ranks are processes, on one host or many.
 *
 * Non-blocking calls of MPI throughout. Reductions are MPI's own: the same number of ranks and the
 * same inputs give the same bits run after run, but the order of a sum is the library's choice, and
 * bf16 is rounded at every step (each step adds in f32). Members that start different messages are
 * not told apart as in backends/local; a receive of another length than its send is an error.
 *
 * When a message does not finish in time the ranks hold a roll-call (roll.h), so that the error
 * names the ranks that are gone. A transport that has failed does not finalize MPI: that would wait
 * for them. Its process must end, best through abort, and the launcher ends the others. */
#ifndef PL_BACKENDS_MPI_MPI_H
#define PL_BACKENDS_MPI_MPI_H
#include "run/comm.h"

/* This process's end of all ranks of MPI_COMM_WORLD. Initialises MPI if nobody has, and then
 * pl_comm_free finalizes it. Fails with PL_EUNSUPPORTED when the library's thread level is below
 * MPI_THREAD_SERIALIZED, with PL_EUSAGE when the time-out is not positive, with PL_ERUN when MPI
 * fails. */
PL_MUST_CHECK bool pl_mpi_new(double timeout_seconds, pl_comm **out, pl_err *err);

/* The most elements that one call of MPI gets, 2^30 when not set: MPI counts in int. Longer
 * messages are several calls. All ranks must set the same; for tests. */
void pl_mpi_set_piece(pl_comm *c, int elements);

#endif
