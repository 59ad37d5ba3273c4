/* train/runner.h - one rank of a training job: its programs and its executor, one step at a time.
 * What comes when is train.c's affair, or that of the library's caller (api/run.c). */
#ifndef PL_TRAIN_RUNNER_H
#define PL_TRAIN_RUNNER_H
#include "data/ids.h"
#include "train/auc.h"
#include "train/caches.h"
#include "train/job.h"
#include "train/state.h"

typedef struct pl_runner {
    const pl_train_job *job;
    int rank;
    pl_arena *arena;
    pl_exec *exec;
    const pl_store *store;
    const pl_gather *gather;    /* NULL: nothing is saved                          */
    const pl_program **program; /* of the job (pl_train_program), then of the gather */
    pl_caches *caches;          /* of tables; NULL: there are none                 */
    pl_limits limits;           /* synthetic integers                              */
    int64_t done;               /* steps, those before a resume included           */
    int n_parts;                /* of the last step's loss: pl_train_event         */
    pl_train_part part[PL_MOST_OBJECTIVES];
} pl_runner;

/* Every rank calls all of these together, on one thread of its own, and gets the same verdict. */

/* Lowers the programs, makes the executor, gives states their first values; comm NULL for a single
 * rank. `wish`: pl_exec_options. After a failure nothing is left to close. */
PL_MUST_CHECK bool pl_runner_open(pl_runner *runner, const pl_train_job *job, pl_comm *comm,
                                  int (*wish)(void *of), void *of, pl_err *err);
void pl_runner_close(pl_runner *runner);

/* The next step: every micro-batch, and the update. *loss: their mean. */
PL_MUST_CHECK bool pl_runner_step(pl_runner *runner, double *loss, pl_err *err);

/* The program of micro-batches before the last; NULL: there is none. */
const pl_program *pl_runner_micro(const pl_runner *runner);

/* Validation batch i. The scores of its rows, where the model has some, are added to *rows, in the
 * runner's arena; NULL: nobody asks. */
PL_MUST_CHECK bool pl_runner_evaluate(pl_runner *runner, int64_t i, double *loss, pl_auc *rows,
                                      pl_err *err);

/* A checkpoint in the folder of the job's options. `alone`: those of other runs go. */
PL_MUST_CHECK bool pl_runner_save(pl_runner *runner, bool alone, pl_err *err);

/* Of the last run of a program; -1: it has no such output. */
double pl_runner_scalar(const pl_runner *runner, int program, const char *output);

#endif
