/* train/optim.h - from a forward graph to a training step: gradients, clipping, updates, in one
 * graph. */
#ifndef PL_TRAIN_OPTIM_H
#define PL_TRAIN_OPTIM_H
#include "models/model.h"
#include "train/cached.h"

/* What a user who says nothing gets, for the help of options to print too. */
#define PL_OPTIM_NAME "adamw"
#define PL_OPTIM_NAMES \
    "adamw, adam, lazy-adamw, lazy-adam, adabelief, lamb, adagrad, rowwise-adagrad or sgd"
#define PL_OPTIM_LR 1e-3
#define PL_OPTIM_BETA1 0.9
#define PL_OPTIM_BETA2 0.99
#define PL_OPTIM_EPS 1e-8
#define PL_OPTIM_MOMENTUM 0.9
#define PL_OPTIM_DECAY 0.1
#define PL_OPTIM_CLIP 1

typedef struct pl_optim {
    const char *name;     /* one of pl_optim_names                                                */
    double beta1, beta2, eps;
    double momentum;      /* of sgd                                                               */
    double decay;         /* weight decay, of weights with two or more dimensions only: scales and
                             biases are not decayed                                               */
    double clip;          /* global norm that gradients are scaled down to; 0: no clipping        */
    bool masters;         /* weights that are read in a narrow type (mixed precision) are stored in
                             it, beside masters in f32 which updates change: else they are f32, and
                             cast in each pass                                                    */
    bool unfused;         /* updates in nodes like torch's operators, not one node for each weight:
                             the same numbers to rounding, with the memory between them           */
    const char *objectives; /* of a model with several, what is said of each (train/objective.h);
                             NULL: what the model says                                            */
    pl_cached cache;      /* of tables: a step has to read so few of their rows, and to update those
                             alone                                                                */
} pl_optim;

/* That one, under another name; adagrad and lazy-adam have no decay. */
pl_optim pl_optim_usual(const char *name);

/* A decay below 0 stands for the usual one of the optimizer. */
void pl_optim_settle(pl_optim *optim);

/* Names of the optimizers, "adamw, adam, adagrad ...". */
const char *pl_optim_names(pl_arena *arena);

/* A table that one lookup reads is updated in the rows alone that a step has read, and its gradient
 * is those rows (train/rows.h), where that leaves what the update of all would: with adagrad and
 * rowwise-adagrad, and with sgd without momentum, all without decay. lazy-adam and lazy-adamw do so
 * too, though the moments of other rows would decay and the rows move by them, as
 * torch.optim.SparseAdam does. Not in micro-batches, and not where weights have masters.
 *
 * With rowwise-adagrad, which has no decay, the moment of such a table is one number a row, however
 * it is updated; other weights are adagrad's.
 *
 * Add the gradients of `loss` for every weight and their updates, with the scalar inputs
 * "lr" (f32) and "step" (i64, from 1). Moments are states named WEIGHT.m and the like, the master
 * of a weight in a narrow type is WEIGHT.master. Outputs
 * "grad_norm" (f32 scalar) when clipping, of several objectives "grad_norm.NAME". Sticky error of
 * b: unknown name.
 *
 * In micro-batches (graph.micro), the mean of whose losses is the step's, gradients of loss / micro
 * are added to states WEIGHT.grad (f32), which start a step at zero. */
void pl_optim_add(pl_builder *b, const pl_optim *optim, pl_value *loss);

/* A builder that holds the training step of a model in so many micro-batches, of one of which
 * `args` is; or without `optim` its forward pass alone. */
pl_builder pl_optim_step(const pl_model_args *args, const pl_optim *optim, int64_t micro,
                         pl_arena *arena);

/* The model of one of n micro-batches of a batch. Fails with PL_EUSAGE when it does not divide. */
PL_MUST_CHECK bool pl_optim_micro(const pl_model_args *args, int64_t n, pl_arena *arena,
                                  pl_model_args *out, pl_err *err);

#endif
