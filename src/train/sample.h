/* train/sample.h - text from a checkpoint, one byte at a time. */
#ifndef PL_TRAIN_SAMPLE_H
#define PL_TRAIN_SAMPLE_H
#include "run/exec.h"

typedef struct pl_sample_options {
    const char *checkpoint;   /* folder or manifest                                  */
    const char *prompt;       /* "" starts from a newline                            */
    int64_t bytes;            /* to make                                             */
    double temperature;       /* 0: always the likeliest                             */
    int64_t top;              /* only among the `top` likeliest; 0: all              */
    uint64_t seed;
    pl_exec_options exec;
} pl_sample_options;

/* Calls put(to, byte) for every new byte. Fails with PL_EINPUT on a bad checkpoint or one whose
 * model does not read text. */
PL_MUST_CHECK bool pl_sample_run(const pl_sample_options *options, void (*put)(void *to, int byte),
                                 void *to, pl_err *err);

#endif
