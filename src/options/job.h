/* options/job.h - of commands about plans: a model on a cluster under an optimizer, or a plan file,
 * which says all of that. */
#ifndef PL_OPTIONS_JOB_H
#define PL_OPTIONS_JOB_H
#include "api/job.h"
#include "options/cache.h"
#include "options/optim.h"
#include "options/request.h"
#include "options/sizes.h"

typedef struct pl_job_args {
    const char *cluster, *optimizer, *objectives;
    pl_cache_args cache;
    pl_sizes sizes;
    pl_request_args request;
    int64_t devices;
    double clip, momentum, decay; /* decay below 0: the usual one */
} pl_job_args;

/* Their rows, for a command whose arguments have a pl_job_args `job`. */
// clang-format off
#define PL_JOB_OPTS \
    { "cluster", TEXT(job.cluster), "NAME", NULL, "devices and links; names below, or a file" }, \
    { "devices", INT(job.devices), "N", NULL, "the same as --cluster local:N", 1, \
      PL_CLUSTER_DEVICES }, \
    PL_SIZES_OPTS(job.sizes), \
    { "optimizer", TEXT(job.optimizer), "NAME", PL_OPTIM_NAME, PL_OPTIM_NAMES, \
      .needs = "method!=admm" }, \
    PL_CLIP_OPT(job.clip), \
    PL_MOMENTUM_OPT(job.momentum), \
    PL_DECAY_OPT(job.decay), \
    PL_OBJECTIVES_OPT(job.objectives), \
    PL_CACHE_OPTS(job.cache), \
    PL_REQUEST_OPTS(job.request)
// clang-format on

/* Fails with PL_EUSAGE without a cluster, and as the parsers of models and clusters do. What the
 * model leaves open is told on stderr. */
PL_MUST_CHECK bool pl_job_args_open(const pl_job_args *a, const char *spec, pl_arena *arena,
                                    pl_job *out, pl_err *err);

/* The job of a plan file. Of the arguments only memory and those about lowering are read. */
PL_MUST_CHECK bool pl_job_args_read(const pl_job_args *a, const char *path, pl_arena *arena,
                                    pl_job *out, pl_plan **plan, pl_plan_about *about,
                                    pl_err *err);

/* Columns of a line of text on stdout: as wide as the terminal, at most 100, and 100 where it is
 * none. */
int pl_job_columns(void);

#endif
