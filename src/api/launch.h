/* api/launch.h - ranks: one thread each in this process, or one process each under mpirun. */
#ifndef PL_API_LAUNCH_H
#define PL_API_LAUNCH_H
#include "run/comm.h"
#include "run/kernel.h"

typedef struct pl_world {
    int n_ranks;
    int rank;             /* of this process: the first that it runs */
    int n_local;          /* ranks that share this process's cores   */
    bool mpi;
    pl_comm *comm;        /* under MPI                               */
    double timeout_seconds;
} pl_world;

/* devices 0: as many as the launcher started, else 1. Under mpirun a number must match. Fails with
 * PL_EUSAGE on a mismatch, with PL_EUNSUPPORTED when built without MPI but started by mpirun. */
PL_MUST_CHECK bool pl_launch_open(int64_t devices, double timeout_seconds, pl_world *out,
                                  pl_err *err);

/* Under MPI: all processes agree on the worst error, so that one that cannot start ends all. Else:
 * is there no error? */
PL_MUST_CHECK bool pl_launch_agree(const pl_world *w, pl_err *err);

/* Run fn as every rank of this process; comm is NULL when there is one rank in all. The error is
 * that of the lowest rank that failed. */
PL_MUST_CHECK bool pl_launch_run(pl_world *w, bool (*fn)(void *arg, pl_comm *comm, pl_err *err),
                                 void *arg, pl_err *err);

/* Ends the world. After a failure under MPI the other processes are ended with this code too.
 * Returns the exit code of the command; has the error told once: by rank 0, or the lowest rank that
 * is left. */
int pl_launch_close(pl_world *w, const pl_err *err, int (*tell)(const pl_err *err));

/* The [*n] backends of a name, by preference; for another name NULL, with the names in err. */
const pl_backend *const *pl_launch_backends(const char *name, int *n, pl_err *err);

/* Ranks that a launcher started; 0 when there was none. */
int pl_launch_started(void);

/* Does this process tell of a mistake on the command line? The only one does, or rank 0. */
bool pl_launch_is_first(void);

/* Cores that this process may use. */
int pl_launch_cores(void);

/* Threads of a rank: so many as were asked for; 0: its share of these cores, which n ranks have. */
int pl_launch_threads(int64_t asked, int n_ranks);

#endif
