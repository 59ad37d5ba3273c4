/* models/admm.h - a recurrent net trained by the alternating direction method of multipliers: each
 * step is a sweep over all that the net computes, for all rows at once. */
#ifndef PL_MODELS_ADMM_H
#define PL_MODELS_ADMM_H
#include "models/model.h"

enum { PL_ADMM_STEPS = 512, PL_ADMM_AGE = 64 }; /* of the net at most, and of its sums */

/* Of the net a_t = U x_t + W s_{t-1} + b, s_t = tanh(a_t), o = V s_T + c. */
typedef struct pl_elman {
    int64_t rows, steps, in, hidden, classes;
    pl_value *x[PL_ADMM_STEPS]; /* [rows, in] each */
    pl_value *u, *w, *b;        /* [hidden, in], [hidden, hidden], [hidden] */
    pl_value *v, *c;            /* [classes, hidden], [classes] */
} pl_elman;

/* Keys of the method, for a model's list. */
#define PL_ADMM_KEYS                                                                               \
    { "method", "gradient", 0, "gradient, or admm: without, in sweeps over the whole batch",       \
      "gradient admm" },                                                                           \
    { "nu", "1.0", 0, "of admm: weight of what steps before the last break of their equations",    \
      .needs = "method=admm" },                                                                    \
    { "rho", "1.0", 0, "of admm: the same of the last step, which has multipliers",                \
      .needs = "method=admm" },                                                                    \
    { "near", "0.1", 0, "of admm: weight of how far a sweep moves a weight",                       \
      .needs = "method=admm" },                                                                    \
    { "age", "0", 0,                                                                               \
      "of admm: sweeps that the sums over rows are old when weights go by them; 0: none",          \
      .most = PL_ADMM_AGE, .needs = "method=admm blocks=least" },                                  \
    { "watch", "0", 0, "1: of admm: the Lagrangian before and after a sweep",                      \
      .most = 1, .needs = "method=admm blocks=least" },                                            \
    { "blocks", "least", 0, "of admm: each goes where the Lagrangian is least, or a linear step",  \
      "least linear", .needs = "method=admm" },                                                    \
    { "metric", "0.1", 0, "of linear blocks: least weight in the metric of the cell's equations",  \
      .needs = "method=admm blocks=linear" },                                                      \
    { "most", "0.3", 0, "of linear blocks: how far a sweep moves the weights of the cell",         \
      .needs = "method=admm blocks=linear" }

/* Add a sweep: what it leaves in the weights of the net, and in its own states, which have a row
 * for each row of the batch. `a`, `s` [steps] and `o` are those of the net as it is, the first
 * values of these states; `labels` i32[rows]. The rows have to be the same in each step. */
void pl_admm_add(pl_builder *b, const pl_model_args *args, const pl_elman *net,
                 pl_value *const a[], pl_value *const s[], pl_value *o, pl_value *labels);

/* The same with blocks=linear (admm_linear.c): no states but the weights. */
void pl_admm_add_linear(pl_builder *b, const pl_model_args *args, const pl_elman *net,
                        pl_value *const s[], pl_value *o, pl_value *labels);

#endif
