/* report/stages.h - the stages of a pipeline told: what each takes, and when its passes run. */
#ifndef PL_REPORT_STAGES_H
#define PL_REPORT_STAGES_H
#include "report/tell.h"

/* Of a plan in stages: a line with the schedule and the lower bound of all schedules of these
 * stages, a row per stage, and the schedule as a picture. */
void pl_tell_pipeline(const pl_told *t, pl_text *out); /* the line */
void pl_tell_stages(const pl_told *t, pl_text *out);   /* the rows and the picture */

/* "pipeline": {...} of a plan in stages. */
void pl_stages_json(const pl_told *t, pl_json_out *out);

#endif
