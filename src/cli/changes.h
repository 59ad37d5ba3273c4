/* cli/changes.h - what to change, and as little as that, for a plan to fit. */
#ifndef PL_CLI_CHANGES_H
#define PL_CLI_CHANGES_H
#include "options/job.h"

/* Where nothing fits: adds to the message of *err the smallest changes of those tried with which
 * something does, fewer rows and more devices. `a` and `spec` are the job's. */
void pl_changes_add(const pl_job_args *a, const char *spec, const pl_job *j, pl_arena *arena,
                    pl_err *err);

/* Where the plan of a strategy does not fit: by how much, and with which words more (micro-batches,
 * recomputing, what lies in the host's memory) it does; of those tried the fastest. NULL: it is the
 * host's memory that is too small. `out` owns it. */
const char *pl_changes_words(const pl_job *j, const pl_found *found, const char *strategy,
                             pl_arena *out);

#endif
