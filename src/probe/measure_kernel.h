/* probe/measure_kernel.h - the part of probe/measure.c that times kernels; for it alone. */
#ifndef PL_PROBE_MEASURE_KERNEL_H
#define PL_PROBE_MEASURE_KERNEL_H
#include "probe/measure.h"

/* One rank. */
typedef struct pl_measure_rank {
    pl_measure *own; /* every rank has the same in the end */
    pl_arena *arena;
    pl_comm *comm; /* NULL: one rank */
    int rank;
    double effort; /* 1, or less where it is to be quick */
    bool crowded;  /* more threads than cores: they take turns */
    pl_kernel_env env;
    char *room; /* on pages as the device has them */
    size_t room_bytes, room_used;
} pl_measure_rank;

/* A node's kernel with everything that a run of it needs. */
typedef struct pl_measure_step {
    const pl_kernel *kernel;
    const pl_kernel_env *env;
    pl_share share;
    void *state, *scratch;
    const void *in[PL_MAX_OPERANDS];
    void *out[PL_MAX_OPERANDS];
} pl_measure_step;

/* Memory until the next pl_measure_clear; the first time zeros. */
void *pl_measure_room(pl_measure_rank *s, int64_t bytes);
void pl_measure_clear(pl_measure_rank *s);

/* Bytes of an array that no cache holds; fewer when it is to be quick, or of many ranks. */
int64_t pl_measure_array(const pl_measure_rank *s);

/* Sorts them; the middle one. */
double pl_measure_median(int n, double sample[]);

/* A barrier. */
PL_MUST_CHECK bool pl_measure_meet(const pl_measure_rank *s, pl_err *err);

/* Makes it that of the slowest rank, on all. */
PL_MUST_CHECK bool pl_measure_slowest(const pl_measure_rank *s, double *seconds, pl_err *err);

/* All rows of own->kernel: "matmul", "copy", "add", "gelu", "layer", "conv". */
PL_MUST_CHECK bool pl_measure_kernels(pl_measure_rank *s, pl_err *err);

/* A matmul of this size, to run beside messages. */
PL_MUST_CHECK bool pl_measure_matmul(pl_measure_rank *s, int64_t size, pl_arena *a,
                                     pl_measure_step *k, pl_err *err);
void pl_measure_step_run(const pl_measure_step *k);
void pl_measure_step_free(pl_measure_step *k);

#endif
