/* api/probe.h - this machine measured by ranks, and the cluster that it is. */
#ifndef PL_API_PROBE_H
#define PL_API_PROBE_H
#include "api/launch.h"
#include "probe/machine.h"

typedef struct pl_probe {
    pl_machine machine;
    pl_measure measure;
    pl_cluster *cluster;
} pl_probe;

/* All ranks of w measure at the same time, with `threads` each; 0: its share of the cores. Under
 * MPI every process gets the result. Fails as pl_measure_run does. */
PL_MUST_CHECK bool pl_probe_run(pl_world *w, int threads, bool quick, pl_arena *out,
                                pl_probe *probe, pl_err *err);

#endif
