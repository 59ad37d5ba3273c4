/* run/fit.h - do the devices of a run fit into the memory where they are? */
#ifndef PL_RUN_FIT_H
#define PL_RUN_FIT_H
#include "run/comm.h"
#include "run/device.h"

/* Bytes that a rank takes of its device, and of the host's memory. */
typedef struct pl_fit {
    int64_t state, work, scratch, host;
} pl_fit;

/* The states and work of the heaviest device, which plans count, against the limit that the user
 * gave each (0: none), and all that share a memory against that: pages of a host come when they are
 * touched, and what does not fit is killed then, without a word. All ranks call it together (comm
 * NULL: the only one), also one that could not be made and needs nothing, which err says: the
 * others wait for its number. *most becomes what the heaviest takes, the same on all ranks, and so
 * is the answer. Fails with PL_EINFEASIBLE giving all numbers, and when there was an error. */
PL_MUST_CHECK bool pl_fit_check(const pl_device *device, pl_comm *comm, const pl_fit *need,
                                int64_t limit, pl_fit *most, pl_err *err);

#endif
