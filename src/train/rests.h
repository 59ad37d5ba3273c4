/* train/rests.h - steps in which some objectives rest (`every` of train/objective.h): parts of the
 * whole step, and what a step takes in the mean. */
#ifndef PL_TRAIN_RESTS_H
#define PL_TRAIN_RESTS_H
#include "train/objective.h"
#include "train/step.h"

enum { PL_MOST_RESTS = 16 };

typedef struct pl_rested {
    unsigned resting; /* bits of the objectives                       */
    int64_t steps;    /* so many of a period are like that            */
    pl_graph *graph;
    pl_plan *plan;
} pl_rested;

typedef struct pl_rests {
    pl_objectives objectives;
    int64_t period; /* steps after which all comes again            */
    int n;          /* ways to rest; in all other steps all train   */
    pl_rested at[PL_MOST_RESTS];
} pl_rests;

/* Which there are, of the objectives of a graph of steps; graphs and plans are not made yet. Fails
 * as pl_objectives_find does, and with PL_EUSAGE where in some step none trains, or there are more
 * ways than can be. */
PL_MUST_CHECK bool pl_rests_find(const pl_graph *g, const pl_trained *t, pl_rests *out,
                                 pl_err *err);

/* Their graphs and plans, which are parts of the whole step's: states that rest are read at most.
 * The losses that are outputs are those of the objectives that train, not their sum. `arena` owns
 * them. Fails as pl_plan_check does. */
PL_MUST_CHECK bool pl_rests_plan(pl_rests *rests, const pl_plan *whole, pl_arena *arena,
                                 pl_err *err);

/* Forecast seconds of a step in the mean over a period, of a model with steps in which some rest; 0
 * of others, of pipelines, and of micro-batches, where nobody has looked. */
PL_MUST_CHECK bool pl_rests_mean(const pl_trained *t, const pl_found *f,
                                 const pl_lower_options *lower, pl_arena *arena, double *seconds,
                                 pl_err *err);

#endif
