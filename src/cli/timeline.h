/* cli/timeline.h - time lines as files for Perfetto: of plans, and of what ran. */
#ifndef PL_CLI_TIMELINE_H
#define PL_CLI_TIMELINE_H
#include "base/output.h"
#include "report/trace.h"
#include "train/train.h"

/* Writes the lines and says so on stderr; `path` is how the user named the file. */
PL_MUST_CHECK bool pl_timeline_write(pl_output *file, const char *path, const char *model, int n,
                                     const pl_trace_line line[], pl_err *err);

/* The last step of n devices as it ran, from device 0 on, each a process of the trace; and, with a
 * cluster, the forecast for device 0 below it, from the same moment on. Without a record nothing is
 * written, and stderr says so. */
PL_MUST_CHECK bool pl_timeline_write_run(pl_output *file, const char *path, const char *model,
                                         int n, const pl_train_record record[],
                                         const pl_cluster *cluster, pl_err *err);

#endif
