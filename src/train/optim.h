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

#endif
