/* options/optim.h - the options of an optimizer, for every command that runs one. */
#ifndef PL_OPTIONS_OPTIM_H
#define PL_OPTIONS_OPTIM_H
#include "options/opt.h"
#include "train/optim.h"

/* Their rows, for a command whose arguments have a pl_optim `f`; the default and the help of eps
 * are the command's own. A decay that is not given stays as it was: pl_optim_settle. */
// clang-format off
#define PL_OPTIM_OPTS(f, usual_eps, about_eps) \
    { "optimizer", TEXT(f.name), "NAME", PL_OPTIM_NAME, PL_OPTIM_NAMES, \
      .needs = "method!=admm" }, \
    { "beta1", REAL(f.beta1), "X", USUAL(PL_OPTIM_BETA1), \
      "of all but adagrad, rowwise-adagrad and sgd", \
      .needs = "optimizer!=sgd optimizer!=adagrad optimizer!=rowwise-adagrad method!=admm" }, \
    { "beta2", REAL(f.beta2), "X", USUAL(PL_OPTIM_BETA2), \
      "of all but adagrad, rowwise-adagrad and sgd", \
      .needs = "optimizer!=sgd optimizer!=adagrad optimizer!=rowwise-adagrad method!=admm" }, \
    { "eps", REAL(f.eps), "X", usual_eps, about_eps, \
      .needs = "optimizer!=sgd method!=admm" }, \
    PL_MOMENTUM_OPT(f.momentum), \
    PL_DECAY_OPT(f.decay), \
    PL_CLIP_OPT(f.clip), \
    PL_OBJECTIVES_OPT(f.objectives)

#define PL_MOMENTUM_OPT(f) \
    { "momentum", REAL(f), "X", USUAL(PL_OPTIM_MOMENTUM), "of sgd", \
      .needs = "optimizer=sgd method!=admm" }

#define PL_DECAY_OPT(f) \
    { "decay", REAL(f), "X", NULL, \
      "weight decay of matrices; default: 0.1, of adagrad and lazy-adam 0", \
      .needs = "method!=admm" }

#define PL_CLIP_OPT(f) \
    { "clip", REAL(f), "X", USUAL(PL_OPTIM_CLIP), "global gradient norm; 0: no clipping", \
      .needs = "method!=admm" }

#define PL_OBJECTIVES_OPT(f) \
    { "objectives", TEXT(f), "TEXT", NULL, \
      "NAME:key=X,...;NAME:... of a model of several (a GAN); default: the model's", \
      .needs = "method!=admm" }
// clang-format on

#endif
