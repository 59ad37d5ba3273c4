/* cli/job.h - what commands about plans have in common: a model on a cluster under an optimizer, or
 * a plan file, which says all of that. */
#ifndef PL_CLI_JOB_H
#define PL_CLI_JOB_H
#include "cli/sizes.h"
#include "plan/file.h"
#include "planners/best.h"

typedef struct pl_job_args {
    const char *cluster, *optimizer, *search;
    pl_sizes sizes;
    int64_t devices, bucket, ahead, steps_over, memory, axes, effort;
} pl_job_args;

/* Their rows, for a command whose arguments have a pl_job_args `job`. */
// clang-format off
#define PL_JOB_OPTS \
    { "cluster", TEXT(job.cluster), "NAME", NULL, "devices and links; names below, or a file" }, \
    { "devices", INT(job.devices), "N", NULL, "the same as --cluster local:N", 1, \
      PL_CLUSTER_DEVICES }, \
    { "memory", BYTES(job.memory), "SIZE", NULL, "of a device; default: all it has", 1 }, \
    { "axes", INT(job.axes), "N", NULL, "of a mesh at most; default: 2, or the levels", 1, 6, \
      .needs = "strategy=auto" }, \
    { "search", TEXT(job.search), "NAME", NULL, "a published method instead; names below", \
      .needs = "strategy=auto" }, \
    { "O", INT(job.effort), "N", "2", "1: equal blocks are planned alike; 2: exact", 1, 2, \
      .needs = "strategy=auto !search" }, \
    PL_SIZES_OPTS(job.sizes), \
    { "optimizer", TEXT(job.optimizer), "NAME", PL_OPTIM_NAME, "adamw, adam or sgd" }, \
    { "bucket", BYTES(job.bucket), "SIZE", "16MiB", "gradients reduced in one message" }, \
    { "gathers-ahead", BYTES(job.ahead), "SIZE", "32MiB", "gathered before they are read" },     \
    { "gather-steps", BYTES(job.steps_over), "SIZE", "0", "larger gathers run in steps; 0: none" }
// clang-format on

typedef struct pl_job {
    const char *model;         /* spec, with batch and seq                                       */
    const char *optimizer;
    pl_cluster *cluster;
    pl_graph *graph;           /* of the whole training step                                     */
    pl_auto_options options;   /* memory: that of the cluster's least device, unless given; watch:
                                  what long work is at, on stderr                                */
    pl_lower_options lower;
} pl_job;

/* Fails with PL_EUSAGE without a cluster, and as the parsers of models and clusters do. */
PL_MUST_CHECK bool pl_job_open(const pl_job_args *a, const char *spec, pl_arena *arena,
                               pl_job *out, pl_err *err);

/* The job of a plan file, its plan, and what else the file says. Of the arguments only memory and
 * those about lowering are read. Fails naming the file. */
PL_MUST_CHECK bool pl_job_read(const pl_job_args *a, const char *path, pl_arena *arena,
                               pl_job *out, pl_plan **plan, pl_plan_about *about, pl_err *err);

/* Rows of a batch; what one step takes in: "tokens" and their number, or "samples". */
int64_t pl_job_rows(const pl_job *j);
const char *pl_job_units(const pl_job *j, int64_t *n);

/* Columns of a line of text on stdout: as wide as the terminal, at most 100, and 100 where it is
 * none. */
int pl_job_columns(void);

#endif
