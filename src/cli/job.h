/* cli/job.h - what commands about plans have in common: a model on a cluster under an optimizer, or
 * a plan file, which says all of that. */
#ifndef PL_CLI_JOB_H
#define PL_CLI_JOB_H
#include "cli/request.h"
#include "cli/sizes.h"
#include "plan/file.h"

typedef struct pl_job_args {
    const char *cluster, *optimizer;
    pl_sizes sizes;
    pl_request_args request;
    int64_t devices;
} pl_job_args;

/* Their rows, for a command whose arguments have a pl_job_args `job`. */
// clang-format off
#define PL_JOB_OPTS \
    { "cluster", TEXT(job.cluster), "NAME", NULL, "devices and links; names below, or a file" }, \
    { "devices", INT(job.devices), "N", NULL, "the same as --cluster local:N", 1, \
      PL_CLUSTER_DEVICES }, \
    PL_SIZES_OPTS(job.sizes), \
    { "optimizer", TEXT(job.optimizer), "NAME", PL_OPTIM_NAME, "adamw, adam or sgd" }, \
    PL_REQUEST_OPTS(job.request)
// clang-format on

typedef struct pl_job {
    const char *model;         /* spec, with batch and seq                                       */
    const char *optimizer;
    const pl_cluster *cluster;
    pl_graph *graph;           /* of the whole training step                                     */
    pl_plan_request request;   /* of the strategy nothing is set yet                             */
} pl_job;

/* Parses a strategy for the job's devices and finds its plan. Fails as pl_strategy_parse and
 * pl_plan_find do. */
PL_MUST_CHECK bool pl_job_find(const pl_job *j, const char *strategy, pl_arena *arena,
                               pl_found **found, pl_err *err);

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
