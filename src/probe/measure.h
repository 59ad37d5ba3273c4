/* probe/measure.h - how fast the ranks of this run are: kernels, memory, messages.
 *
 * All ranks do the same at the same time, as in training; a time is the median of many (of kernels,
 * where ranks share a core, the mean), of the slowest rank. */
#ifndef PL_PROBE_MEASURE_H
#define PL_PROBE_MEASURE_H
#include "cluster/link.h"
#include "run/comm.h"
#include "run/kernel.h"

enum { PL_MEASURE_KERNELS = 24, PL_MEASURE_LEVELS = 2, PL_MEASURE_CALLS = 8 };

/* A kernel, the same on every rank. */
typedef struct pl_measured_kernel {
    const char *what;      /* "matmul"; "layer" and "conv" with their gradients; "gelu", "add",
                              "copy"                                                          */
    char kernel[48];       /* "onednn/sgemm"; "" for copy                                     */
    pl_type type;
    int64_t size;          /* matmul: rows, columns and sums; layer: inputs; conv: channels;
                              else elements                                                   */
    double seconds;
    double flops, bytes;   /* of one rank, flops as pl_op_work has them; bytes are those read and
                              written                                                         */
} pl_measured_kernel;

double pl_measured_flops(const pl_measured_kernel *k); /* per second */

/* Messages over one level of links: each rank sends to the next one of its group of `size` ranks
 * that are `stride` apart, at the same time. */
typedef struct pl_measured_level {
    const char *name;      /* "cores" between ranks of a host, "network" between hosts       */
    int size, stride;
    int n;
    pl_point point[PL_LINK_POINTS];
} pl_measured_level;

typedef struct pl_measured_call {
    pl_collective kind;
    int64_t block_bytes;   /* one rank's block; of an all-reduce: all it has, over the ranks  */
    double seconds;
} pl_measured_call;

typedef struct pl_measure {
    int n_ranks, n_threads;
    int per_host;                               /* ranks that share a machine's memory        */
    int n_kernels, n_levels, n_calls;
    pl_measured_kernel kernel[PL_MEASURE_KERNELS];
    pl_measured_level level[PL_MEASURE_LEVELS]; /* innermost first; none for one rank         */
    pl_measured_call call[PL_MEASURE_CALLS];    /* collectives of all ranks                   */
    double overlap;        /* of messages and matmuls that take about as long: the share of the
                              shorter that is gone when both run at once, 0 .. 1              */
} pl_measure;

/* As one rank of comm, or alone where that is NULL: all ranks call it at the same time, and each
 * gets the same result. 5 to 15 s, `quick` a few and rougher.
 *
 *   env    backends and threads of a rank; the stream is its own
 *   cores  that the ranks of this host share
 *
 * Fails with PL_EUNSUPPORTED when the ranks are not spread over hosts in equal, consecutive groups;
 * else as messages and devices do. */
PL_MUST_CHECK bool pl_measure_run(pl_comm *comm, const pl_kernel_env *env, int cores, bool quick,
                                  pl_measure *out, pl_err *err);

#endif
