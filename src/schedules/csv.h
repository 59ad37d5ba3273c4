/* schedules/csv.h - schedules as PyTorch writes them (torch.distributed.pipelining): a line per
 * rank, a cell per turn, "2F0" is the forward pass of micro-batch 0 through stage 2; B, I and W are
 * as here. An empty cell is a turn that the rank waits. */
#ifndef PL_SCHEDULES_CSV_H
#define PL_SCHEDULES_CSV_H
#include "schedules/pipeline.h"

/* Passes stand in the turn in which they begin when each takes one, and a B two where others are in
 * two. Of a schedule that pl_pipeline_check takes. */
void pl_pipeline_csv_write(const pl_pipeline *s, pl_text *out);

/* Messages and the like (SEND_F, UNSHARD, ...) follow from the passes and are left out; passes that
 * PyTorch overlaps, "(3F0;3B1)OVERLAP_F_B", come one after the other; blank lines at the end are no
 * ranks. Checked. `name` is that of the schedule, and where it says an error is; `out` owns the
 * rest. Fails with PL_EINPUT: rank, cell, its text. */
PL_MUST_CHECK bool pl_pipeline_csv_read(const char *text, size_t n, const char *name, pl_arena *out,
                                        pl_pipeline *s, pl_err *err);

#endif
