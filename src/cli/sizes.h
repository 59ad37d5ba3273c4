/* cli/sizes.h - options of every command that takes a MODEL: more of its keys. */
#ifndef PL_CLI_SIZES_H
#define PL_CLI_SIZES_H
#include "cli/opt.h"

typedef struct pl_sizes {
    int64_t batch, seq;
    const char *bind, *loss;
} pl_sizes;

/* Their rows, for a command whose arguments have a pl_sizes `s`. */
// clang-format off
#define PL_SIZES_OPTS(s) \
    { "batch", INT(s.batch), "N", NULL, "all devices' rows (model key batch)", 1 }, \
    { "seq", INT(s.seq), "N", NULL, "positions per row (model key seq)", 1 }, \
    { "bind", TEXT(s.bind), "KEYS", NULL, "more keys of the model: batch=8,height=64" }, \
    { "loss", TEXT(s.loss), "LOSS", NULL, "of an .onnx file: cross-entropy, mse, graph[:OUTPUT]" }
// clang-format on

/* The spec with these keys. */
const char *pl_sizes_spec(const pl_sizes *s, const char *spec, pl_arena *a);

#endif
