/* train/step.h - the training step of a model, and its plan: in how many micro-batches it takes its
 * batch is a part of that. */
#ifndef PL_TRAIN_STEP_H
#define PL_TRAIN_STEP_H
#include "planners/find.h"
#include "train/optim.h"

/* Graphs of steps that were made, of one model and optimizer: each is made once. */
enum { PL_MOST_STEPS = 8 };
typedef struct pl_steps {
    pl_arena *arena; /* of all of them: what is made in another one is not kept */
    int n;
    struct {
        int64_t micro;
        bool masters;
        pl_graph *graph;
    } at[PL_MOST_STEPS];
} pl_steps;

/* What is trained: a model, with the batch of a step, and an optimizer. */
typedef struct pl_trained {
    const pl_model_args *args;
    const pl_optim *optim;
    pl_steps *made; /* NULL: none are kept */
} pl_trained;

/* Of how many micro-batches a strategy and an option speak, *micro 0 where it says nothing: both
 * say the same afterwards, the strategy 0 where auto is to say it, which is 1 in *micro. Reads
 * the plan file of the strategy, whose masters, caches of tables and objectives become the
 * optimizer's. Fails as pl_strategy_read does, and with PL_EUSAGE where they differ. */
PL_MUST_CHECK bool pl_step_settle(pl_strategy *s, int64_t *micro, pl_optim *optim, pl_arena *arena,
                                  pl_err *err);

/* The graph of a step in so many micro-batches. Fails as pl_optim_micro, models and optimizers
 * do. */
PL_MUST_CHECK bool pl_step_graph(const pl_trained *t, int64_t micro, pl_arena *arena, pl_graph **g,
                                 pl_err *err);

/* Does the model remember something of its batches? In micro-batches it is of those: other
 * mathematics. */
bool pl_step_has_statistics(const pl_graph *g);

/* The plan of a step, in as many micro-batches as the strategy of the request says. Auto that says
 * nothing takes the number whose plan is the fastest that fits: where memory binds, it tries some
 * that the batch divides into (of a model with running statistics of its batches, which would be
 * others then, none but 1). found->take->plan->graph is the graph. Fails as pl_plan_find and
 * pl_step_graph do. */
PL_MUST_CHECK bool pl_step_find(const pl_plan_request *r, const pl_trained *t, pl_arena *arena,
                                pl_found **found, pl_err *err);

#endif
