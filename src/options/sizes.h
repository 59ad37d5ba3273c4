/* options/sizes.h - options of every command that takes a MODEL: more of its keys. */
#ifndef PL_OPTIONS_SIZES_H
#define PL_OPTIONS_SIZES_H
#include "options/opt.h"

typedef struct pl_sizes {
    int64_t batch, seq;
    const char *bind, *method, *loss, *train, *freeze;
    bool guess;
} pl_sizes;

/* Their rows, for a command whose arguments have a pl_sizes `s`; and what they all need. */
// clang-format off
#define PL_SIZES_OPTS(s) PL_SIZES_OPTS_WITH(s, NULL)
#define PL_SIZES_OPTS_WITH(s, need) \
    { "batch", INT(s.batch), "N", NULL, "all devices' rows (model key batch)", 1, .needs = need, \
      .key = true }, \
    { "seq", INT(s.seq), "N", NULL, "positions per row (model key seq)", 1, .needs = need, \
      .key = true }, \
    { "method", TEXT(s.method), "NAME", NULL, "how it learns: gradient, admm (model key method)", \
      .needs = need, .key = true }, \
    { "bind", TEXT(s.bind), "KEYS", NULL, "more keys of the model: batch=8,height=64", \
      .needs = need }, \
    { "loss", TEXT(s.loss), "LOSS", NULL, "of an .onnx: cross-entropy, mse, graph[:OUTPUT]", \
      .needs = need }, \
    { "train", TEXT(s.train), "GLOBS", NULL, "of an .onnx: tensors that train; or @FILE", \
      .needs = need }, \
    { "freeze", TEXT(s.freeze), "GLOBS", NULL, "of an .onnx: tensors that do not", \
      .needs = need }, \
    { "guess", FLAG(s.guess), NULL, NULL, "which train, where the .onnx does not say", \
      .needs = need }
// clang-format on

/* The spec with these keys. */
const char *pl_sizes_spec(const pl_sizes *s, const char *spec, pl_arena *a);

/* Say on stderr what a model was taken to be where its config.json, or its name, leaves it open:
 * lines "note: ...". */
struct pl_model_args;
void pl_sizes_tell(const struct pl_model_args *m);

#endif
