/* run/exec.h - one device's executor: runs programs over one block of memory.
 *
 * Everything is made in pl_exec_new: the block (states, then the work of the largest program, then
 * scratch), the one in the host's memory, kernels and their primitives, groups, the lanes. A step
 * allocates nothing. The block is memory of the device of the backends, which alone touches it. */
#ifndef PL_RUN_EXEC_H
#define PL_RUN_EXEC_H
#include "program/program.h"
#include "run/comm.h"
#include "run/fit.h"
#include "run/kernel.h"

typedef struct pl_exec pl_exec;

typedef struct pl_exec_options {
    int n_backends;
    const pl_backend *const *backends; /* by preference, the last accepts everything; all are of
                                          one device                                     */
    pl_kernel_env env;
    bool poison;                       /* fill the work block with NaN before every step */
    bool record;                       /* keep when steps begin and end: pl_exec_times   */
    int64_t memory_limit;              /* bytes of states and work of one device; 0: all */
    const char *host_dir;              /* what lies in the host's memory is in a file of
                                          this folder; NULL: in memory                   */
    double host_rate;                  /* bytes per second that copies to and from there
                                          keep to, each way; 0: as fast as they can be   */
    double link_rate;                  /* the same of what other ranks send              */
    int (*wish)(void *of);             /* asked at the end of every step, below
                                          PL_COMM_WISHES; NULL: 0                        */
    void *wish_of;
} pl_exec_options;

/* Before anything runs, called by all ranks together: do their programs have the same messages in
 * the same order? Else they would wait for each other for ever. Every rank takes part in every
 * message, so comparing the lists is enough. Fails on all ranks with PL_EINTERNAL naming two. */
PL_MUST_CHECK bool pl_exec_match(pl_comm *comm, int n_programs, const pl_program *const programs[],
                                 pl_err *err);

/* Programs share one store. `comm` may be NULL for one rank; else its rank and size are those of
 * the programs. `arena` owns the books; memory and primitives are freed by pl_exec_free. Call it on
 * the thread that will run the steps.
 *
 * Fails with PL_EINFEASIBLE when a device is larger than its limit, or all that share a machine,
 * threads or processes, are larger than its memory (all numbers), with PL_ERUN when the memory
 * cannot be had, or with what a kernel reports. */
PL_MUST_CHECK bool pl_exec_new(const pl_exec_options *options, pl_comm *comm, int n_programs,
                               const pl_program *const programs[], pl_arena *arena, pl_exec **out,
                               pl_err *err);
void pl_exec_free(pl_exec *exec);

/* This device's part of an input or output of a program, or of a state, as host memory (map of
 * run/device.h): to be read, or written before a step. But for PL_READ it may be NULL: nothing is
 * to be written. Give it back with unmap (NULL is fine) before the next step. Outputs are valid
 * until the next inputs are written. */
void *pl_exec_map(pl_exec *exec, const pl_port *port, pl_access how);
void pl_exec_unmap(pl_exec *exec, const pl_port *port, pl_access how, void *host);
/* Its first `bytes`, copied. */
void pl_exec_get(pl_exec *exec, const pl_port *port, void *to, int64_t bytes);
/* No bits at all, which is 0 in every type. */
void pl_exec_zero(pl_exec *exec, const pl_port *port);

/* Run one step. All ranks call it together; when any fails, all fail with the same message. */
PL_MUST_CHECK bool pl_exec_step(pl_exec *exec, int program, pl_err *err);

/* The largest wish of all ranks at the end of the last step: the same on each. */
int pl_exec_wish(const pl_exec *exec);

/* A border without a step: the ranks agree on the worst error. */
PL_MUST_CHECK bool pl_exec_agree(pl_exec *exec, pl_err *err);

typedef struct pl_exec_stats {
    int64_t state_bytes, work_bytes, scratch_bytes; /* of the block            */
    int64_t host_bytes;                             /* of the host's memory    */
    pl_fit most;                                    /* of the heaviest rank, in these four      */
    double compute_seconds;                         /* in kernels              */
    double exposed_seconds;                         /* waiting for messages    */
    double busy_seconds;                            /* with messages under way */
    int64_t copied_bytes;                           /* to and from the host    */
    int64_t steps;
} pl_exec_stats;
pl_exec_stats pl_exec_stats_get(const pl_exec *exec);

/* One line per step: the backend and kernel that runs it, and the refusals before it. */
void pl_exec_explain(const pl_exec *exec, int program, pl_text *out);

/* When the steps of a program began and ended in its last run: [n_steps] seconds on the clock. A
 * message begins when it is handed to the transport. False without options.record, and when the
 * program never ran or its last run failed. The arena of pl_exec_new owns the arrays; the next run
 * of the program writes them anew. */
bool pl_exec_times(const pl_exec *exec, int program, const double **begin, const double **end);

/* Seconds of all steps so far, by operator and kernel, the longest first. */
void pl_exec_profile(const pl_exec *exec, int program, pl_text *out);

#endif
