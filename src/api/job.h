/* api/job.h - a model on a cluster under an optimizer: what a plan is asked for, and what its file
 * says. */
#ifndef PL_API_JOB_H
#define PL_API_JOB_H
#include "models/model.h"
#include "plan/file.h"
#include "planners/find.h"
#include "report/tell.h"
#include "train/step.h"

typedef struct pl_job {
    pl_model_args args;      /* of the model: a step's batch                 */
    const char *optimizer;
    const char *objectives;  /* pl_optim.objectives                          */
    pl_plan_numbers numbers; /* of pl_optim                                  */
    const char *cache;       /* pl_cached_parse; NULL or "": none            */
    int n_caches;            /* sizes of them that were compared, or 0       */
    const pl_plan_cache *caches;
    const pl_graph *graph;   /* of a step: of one of its micro-batches, of which a plan that is
                                found may have more than one              */
    pl_steps *made;          /* the graphs so far, by pl_job_build           */
    pl_plan_request request; /* of its strategy nothing is set yet           */
} pl_job;

/* The optimizer of a job, without its caches. */
pl_optim pl_job_optim(const pl_job *j);

/* Builds the graph, of so many micro-batches; all else of the job is set. Fails as pl_step_graph
 * does. */
PL_MUST_CHECK bool pl_job_build(pl_job *j, int64_t micro, bool masters, pl_arena *arena,
                                pl_err *err);

/* The job of a plan file and its plan. What j->request says but for the cluster stays; of the model
 * the spec in the file counts, unless `own` is that of a caller. Fails naming the file. */
PL_MUST_CHECK bool pl_job_read(pl_job *j, const char *path, const pl_model_args *own,
                               pl_arena *arena, pl_plan **plan, pl_plan_about *about, pl_err *err);

/* The text of a plan file. */
void pl_job_write(const pl_job *j, const pl_found *f, pl_text *out);

/* The plan of a request, as pl_step_find finds it, for the job's model and optimizer. */
PL_MUST_CHECK bool pl_job_plan(const pl_job *j, const pl_plan_request *r, pl_arena *arena,
                               pl_found **found, pl_err *err);

/* Parses a strategy for the job's devices and finds its plan, whose graph becomes the job's. Fails
 * as pl_strategy_parse and pl_step_find do. */
PL_MUST_CHECK bool pl_job_find(pl_job *j, const char *strategy, pl_arena *arena, pl_found **found,
                               pl_err *err);

/* All that is told of a plan, but for what to do next. */
pl_told pl_job_told(const pl_job *j, const pl_found *f, pl_arena *arena);

typedef struct pl_explain_options {
    int most;    /* rows of a list at most                  */
    bool json;
    int columns; /* of a line of text where words fit       */
} pl_explain_options;

/* Has the job's graph an operator or tensor of that name? Fails with PL_EUSAGE, naming what is
 * near; so it can be asked before a plan is looked for. */
PL_MUST_CHECK bool pl_job_knows(const pl_job *j, const char *name, pl_arena *arena, pl_err *err);

/* What a plan of auto does with an operator or tensor (of equal blocks all with * for what
 * differs), and what else it could do: explain.c. *note: what a reader should know first, or NULL.
 * Fails with PL_EUSAGE for another strategy, and where nothing has that name (and which are near).
 * */
PL_MUST_CHECK bool pl_job_explain(const pl_job *j, const pl_found *f, const char *name,
                                  const pl_explain_options *o, pl_text *out, const char **note,
                                  pl_err *err);

/* A strategy beside the plan of auto, in as many micro-batches unless it says how many: where its
 * seconds and bytes go: why_not.c. Fails as pl_job_find does. */
PL_MUST_CHECK bool pl_job_why_not(const pl_job *j, const pl_found *best, const char *strategy,
                                  const pl_explain_options *o, pl_text *out, pl_err *err);

/* Rows of a step's batch; what one step takes in: "tokens" and their number, or "samples". */
int64_t pl_job_rows(const pl_job *j);
const char *pl_job_units(const pl_job *j, int64_t *n);

#endif
