/* train/sample.h - text from a checkpoint, one token at a time. */
#ifndef PL_TRAIN_SAMPLE_H
#define PL_TRAIN_SAMPLE_H
#include "train/infer.h"

typedef struct pl_sample_options {
    const char *prompt;       /* "" starts from a newline                            */
    const char *words;        /* vocabulary (data/vocab.h); NULL: tokens are bytes   */
    int64_t tokens;           /* to make                                             */
    double temperature;       /* 0: always the likeliest                             */
    int64_t top;              /* only among the `top` likeliest; 0: all              */
    uint64_t seed;
    pl_exec_options exec;
} pl_sample_options;

/* Starts the model, and calls put(to, text, n) with the text of every new token. Fails with
 * PL_EINPUT on a bad vocabulary, a model that does not read text, and as pl_infer_build and
 * pl_infer_start do. */
PL_MUST_CHECK bool pl_sample_run(pl_infer *model, const pl_sample_options *options,
                                 void (*put)(void *to, const char *text, size_t n), void *to,
                                 pl_err *err);

#endif
