/* probe/machine.h - this machine as a cluster: what it says of itself, and what was measured. */
#ifndef PL_PROBE_MACHINE_H
#define PL_PROBE_MACHINE_H
#include "cluster/cluster.h"
#include "probe/measure.h"

typedef struct pl_machine {
    int cores;           /* usable by this process           */
    int all_cores;       /* of the machine; 0: not known     */
    double memory_bytes; /* of the machine                   */
} pl_machine;

/* `cores`: that this process may use. */
pl_machine pl_machine_look(int cores);

/* A level of links per level measured; one rank sends nothing: its level keeps the guess of
 * local:1. `ranks` is what they are, for the name: "threads". Fails as pl_cluster_finish does. */
PL_MUST_CHECK bool pl_machine_cluster(const pl_machine *machine, const pl_measure *m,
                                      const char *ranks, pl_arena *out, pl_cluster **cluster,
                                      pl_err *err);

/* Seconds of a collective of all ranks by the cluster's numbers: rings, and the copy of the rank's
 * own block. Beside what was measured it says how good the numbers are. */
double pl_machine_predict(const pl_cluster *c, const pl_measured_call *call);

#endif
