/* train/optim.h - from a forward graph to a training step: gradients, clipping, updates, in one
 * graph. */
#ifndef PL_TRAIN_OPTIM_H
#define PL_TRAIN_OPTIM_H
#include "graph/graph.h"

typedef struct pl_optim {
    const char *name;     /* "adamw", "adam" or "sgd"                                             */
    double beta1, beta2, eps;
    double momentum;      /* of sgd                                                               */
    double decay;         /* weight decay, of weights with two or more dimensions only: scales and
                             biases are not decayed                                               */
    double clip;          /* global norm that gradients are scaled down to; 0: no clipping        */
} pl_optim;

/* Names of the optimizers, "adamw, adam, sgd". */
const char *pl_optim_names(pl_arena *a);

/* Add the gradients of `loss` for every trainable state and their updates, with the scalar inputs
 * "lr" (f32) and "step" (i64, from 1). Moments are states named WEIGHT.m and the like. Outputs
 * "grad_norm" (f32 scalar) when clipping. Sticky error of b: unknown name. */
void pl_optim_add(pl_builder *b, const pl_optim *o, pl_value *loss);

/* The same step in two graphs, for a batch that is taken in n micro-batches (the mean of whose
 * losses is the step's). Graph b, run for each of them, adds d loss / n to states WEIGHT.grad
 * (f32), which start a step at zero. The graph of `update`, empty before, run after them, has all
 * states of b and the moments, and updates from those sums; "lr", "step" and "grad_norm" are
 * there. */
void pl_optim_accumulate(pl_builder *b, const pl_optim *o, pl_value *loss, int64_t n,
                         pl_builder *update);

/* Is a state one of those sums? */
bool pl_optim_is_sum(const pl_value *v);

#endif
