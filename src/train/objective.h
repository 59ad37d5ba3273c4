/* train/objective.h - what a step works towards: one loss, or several that train weights of their
 * own each, as the two networks of a GAN. A model of several gives an output "loss.NAME" for each,
 * which trains the weights whose names begin with "NAME."; its "loss" is their sum. */
#ifndef PL_TRAIN_OBJECTIVE_H
#define PL_TRAIN_OBJECTIVE_H
#include "train/optim.h"

enum { PL_MOST_OBJECTIVES = 8 };

#define PL_OBJECTIVE_KEYS "optimizer, rate, every, beta1, beta2, eps, momentum, decay and clip"

typedef struct pl_objective {
    const char *name; /* "": the only one, of all weights                          */
    pl_optim optim;   /* that of the job, with what is said of this one            */
    double rate;      /* its learning rate is so many times the job's              */
    int64_t every;    /* it trains in each so many-th step, the first one included */
} pl_objective;

typedef struct pl_objectives {
    int n;
    pl_objective at[PL_MOST_OBJECTIVES];
} pl_objectives;

/* Those of a model's graph, with what optim->objectives says of them:
 * "generator:optimizer=adabelief,rate=0.5;discriminator:every=2". What it does not say is as in
 * optim. A key optimizer brings the usual decay of that one. Fails with PL_EUSAGE: no such
 * objective (with those that there are), key, optimizer or number. The graph's arena owns texts. */
PL_MUST_CHECK bool pl_objectives_find(const pl_graph *g, const pl_optim *optim, pl_objectives *out,
                                      pl_err *err);

/* With what the model says of its objectives, where optim says nothing. */
pl_optim pl_objectives_usual(const pl_optim *optim, const pl_model_args *args);

/* The bits of those that do not train in the step after so many. */
unsigned pl_objectives_resting(const pl_objectives *list, int64_t done);

/* After how many steps the same ones train again. */
int64_t pl_objectives_period(const pl_objectives *list);

/* The output of an objective's loss. */
pl_value *pl_objective_loss(const pl_graph *g, const pl_objective *o);

/* Is it an output of this one, of several, alone: its loss, or the norm of its gradients? */
bool pl_objective_reports(const pl_objective *o, const pl_value *output);

/* Is it a weight that this objective trains? */
bool pl_objective_trains(const pl_objective *o, const pl_value *weight);

/* The scalar inputs "lr" and "step", as this objective has them: the step counts its own. */
pl_value *pl_objective_lr(pl_builder *b, const pl_objective *o);
pl_value *pl_objective_step(pl_builder *b, const pl_objective *o);

#endif
