/* train/pipelines.h - pipelines for auto (-O3): how many stages, how each is split, in how many
 * micro-batches, which schedule. */
#ifndef PL_TRAIN_PIPELINES_H
#define PL_TRAIN_PIPELINES_H
#include "train/step.h"

/* The best of what was found without (`plain`; NULL: nothing fits) and of pipelines: numbers of
 * stages, of parts of a layer and of micro-batches, with or without recomputing, are ranked by
 * sums over the graph; those that look best are planned and forecast, then with other schedules and
 * more micro-batches. So it is never worse than `plain`, and not proven to be the best. A model
 * with running statistics of its batches is not split into micro-batches: it gets no pipeline.
 * `why` is what `plain` failed with. Fails so where no pipeline fits either. */
PL_MUST_CHECK bool pl_pipelines_find(const pl_plan_request *r, const pl_trained *t, pl_found *plain,
                                     const pl_err *why, pl_arena *arena, pl_found **found,
                                     pl_err *err);

#endif
