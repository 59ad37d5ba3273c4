/* backends/local/local.h - the transport whose ranks are threads of one process.
 *
 * Members read each other's buffers directly: no copies through a third buffer, no allocation in
 * steady state. Nobody's memory is touched by another rank after that rank's test has said done or
 * has failed, so a rank may free its buffers at once in both cases. */
#ifndef PL_BACKENDS_LOCAL_LOCAL_H
#define PL_BACKENDS_LOCAL_LOCAL_H
#include "run/comm.h"

enum { PL_LOCAL_RANKS = 256 }; /* at most */

/* Makes the ends of all n ranks: out[r] is for the thread of rank r. Each is freed with
 * pl_comm_free by its owner, in any order; what they share goes with the last one. Fails with
 * PL_EUSAGE when n is not in 1..PL_LOCAL_RANKS or the time-out is not positive. */
PL_MUST_CHECK bool pl_local_new(int n, double timeout_seconds, pl_comm *out[], pl_err *err);

#endif
