/* cli/scalars.h - the numbers of a run as a table: --log FILE.csv.
 *
 * One row for each step that is told: step, loss, lr, grad_norm, tokens and seconds of the step.
 * A row of its own for each validation: step, validation_loss. What is not there is empty. Each row
 * is flushed: whoever reads meanwhile sees whole rows. */
#ifndef PL_CLI_SCALARS_H
#define PL_CLI_SCALARS_H
#include "train/train.h"
#include <stdio.h>

typedef struct pl_scalars {
    FILE *file; /* NULL: closed */
    const char *path;
    bool failed; /* a row did not get through: said once, the run goes on */
} pl_scalars;

/* Make the file, or, when `resume`, add to one that is such a table: rows of steps that are done
 * again come again. Fails with PL_EINPUT when a file is there and the run is a new one, or it is no
 * such table. */
PL_MUST_CHECK bool pl_scalars_open(const char *path, bool resume, pl_scalars *out, pl_err *err);
/* The same check, without making anything: for the time before a long search. */
PL_MUST_CHECK bool pl_scalars_check(const char *path, bool resume, pl_err *err);
void pl_scalars_close(pl_scalars *s); /* {0} is fine */

void pl_scalars_step(pl_scalars *s, const pl_train_event *e);
void pl_scalars_validation(pl_scalars *s, const pl_train_event *e);

#endif
