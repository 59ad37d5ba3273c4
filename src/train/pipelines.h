/* train/pipelines.h - pipelines for auto (-O3): how many stages, how each is split, in how many
 * micro-batches, which schedule. */
#ifndef PL_TRAIN_PIPELINES_H
#define PL_TRAIN_PIPELINES_H
#include "train/step.h"

/* The best of what was found without (`plain`; NULL: nothing fits) and of pipelines: numbers of
 * stages, of parts of a layer and of micro-batches, with or without recomputing, are ranked by
 * sums over the graph, and those that look best are planned and forecast. The layout within the
 * stages of the best is searched (pl_plan_find of "pp=N,micro=N,auto"), then that of pipelines with
 * twice or half as many stages or micro-batches, as long as that is faster, and at last with other
 * schedules. So it is never worse than `plain`; found->floor says how far from the best it can be.
 * A model with running statistics of its batches is not split into micro-batches: it gets no
 * pipeline. `why` is what `plain` failed with. Fails so where no pipeline fits either. */
PL_MUST_CHECK bool pl_pipelines_find(const pl_plan_request *r, const pl_trained *t, pl_found *plain,
                                     const pl_err *why, pl_arena *arena, pl_found **found,
                                     pl_err *err);

/* The best of what a published method that plans pipelines (pl_planner.schedule) looks at: of those
 * that fit the fastest by the forecast. Fails as the first one does, where none fits. */
PL_MUST_CHECK bool pl_pipelines_method(const pl_plan_request *r, const pl_trained *t,
                                       pl_arena *arena, pl_found **found, pl_err *err);

#endif
