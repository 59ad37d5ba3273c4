/* train/infer.h - the model of a checkpoint as it is used when it has learned: its graph for
 * PL_INFER on one device, with the checkpoint's weights. */
#ifndef PL_TRAIN_INFER_H
#define PL_TRAIN_INFER_H
#include "models/model.h"
#include "run/checkpoint.h"
#include "run/exec.h"

typedef struct pl_infer {
    pl_arena *arena;
    const char *path;          /* as given                                   */
    pl_checkpoint from;
    pl_model_args args;        /* as it was trained                       */
    const pl_graph *graph;     /* NULL: not built                            */
    const pl_program *program; /* NULL: not started                          */
    pl_exec *exec;             /* the same                                   */
} pl_infer;

/* Open a checkpoint: a folder or a manifest. Fails as pl_checkpoint_open and pl_model_parse do.
 * `arena` owns all but what pl_infer_free frees, also of what the others make. */
PL_MUST_CHECK bool pl_infer_open(const char *path, pl_arena *arena, pl_infer *out, pl_err *err);
void pl_infer_free(pl_infer *m); /* {0} is fine */

/* Build the graph for so many rows a step (model key batch). `add` (NULL: nothing) adds outputs.
 * Fails as the model's builder and `add` do. */
PL_MUST_CHECK bool pl_infer_build(pl_infer *m, int64_t rows, void (*add)(pl_builder *b),
                                  pl_err *err);

/* Make it ready for steps of program 0. Fails with PL_EINPUT where the checkpoint lacks states that
 * the model has, and as pl_exec_new does. */
PL_MUST_CHECK bool pl_infer_start(pl_infer *m, const pl_exec_options *exec, pl_err *err);

/* By name, of one that is started; NULL: there is none. */
const pl_port *pl_infer_input(const pl_infer *m, const char *name);
const pl_port *pl_infer_output(const pl_infer *m, const char *name);

/* Write an input before a step: all its elements, as they lie there. */
void pl_infer_put(pl_infer *m, const pl_port *input, const void *from);

#endif
