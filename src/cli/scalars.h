/* cli/scalars.h - the numbers of a run in files: --log FILE.csv, --tensorboard DIR.
 *
 * The table has one row for each step that is told: step, loss, lr, grad_norm, tokens and seconds
 * of the step. A row of its own for each validation: step, validation_loss. What is not there is
 * empty. The event file has, for the same steps, train/loss, train/lr, train/grad_norm,
 * train/tokens_per_second and validation/loss. Each row or record is flushed: whoever reads
 * meanwhile sees whole ones. */
#ifndef PL_CLI_SCALARS_H
#define PL_CLI_SCALARS_H
#include "cli/events.h"
#include "train/train.h"
#include <stdio.h>

/* What the user wants written; NULL: not that. */
typedef struct pl_scalars_options {
    const char *log;         /* the table             */
    const char *tensorboard; /* folder of event files */
} pl_scalars_options;

typedef struct pl_scalars {
    FILE *file; /* the table; NULL: none */
    const char *path;
    bool failed; /* a row did not get through: said once, the run goes on */
    pl_events events;
} pl_scalars;

/* Make the files. With `resume` the table may be there: rows of steps that are done again come
 * again. Fails with PL_EINPUT when a table is there and the run is a new one, when it is no such
 * table, and when nothing can be written. `a` owns the path of
 * the event file. */
PL_MUST_CHECK bool pl_scalars_open(const pl_scalars_options *o, bool resume, pl_arena *a,
                                   pl_scalars *out, pl_err *err);
/* The same check, without making anything: for the time before a long search. */
PL_MUST_CHECK bool pl_scalars_check(const pl_scalars_options *o, bool resume, pl_err *err);
void pl_scalars_close(pl_scalars *s); /* {0} is fine */

void pl_scalars_step(pl_scalars *s, const pl_train_event *e);
void pl_scalars_validation(pl_scalars *s, const pl_train_event *e);

#endif
