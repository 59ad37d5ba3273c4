/* models/file.h - models out of files: an .onnx file is one whose keys are its symbolic sizes and
 * its loss. Private to models/. */
#ifndef PL_MODELS_FILE_H
#define PL_MODELS_FILE_H
#include "models/model.h"

bool pl_file_model_is(const char *name); /* by its ending */

/* Keys: "batch" (the first size of the first input), "seq" (the second of whole numbers), every
 * other symbol by its name; sizes that the file gives as numbers cannot be changed. "classes" and
 * "vocab" tell what labels and tokens have to be below. "loss": cross-entropy or mse of the output
 * named "output", or graph: the output is the loss. "train", "freeze", "guess": as
 * pl_onnx_options has them. `keys`, "batch=8,seq=64": those of the spec, for the trial that finds
 * out about the file.
 *
 * Inputs with the names that transformers gives to what goes without saying are constants:
 * attention masks are ones, token types zeros, positions count from 0. All others are fed.
 * `arena` owns the model. Fails as pl_onnx_open and pl_onnx_add. */
PL_MUST_CHECK bool pl_file_model_open(const char *path, const char *keys, pl_arena *arena,
                                      const pl_family **out, pl_err *err);

/* What a guess of the tensors that train leaves open, a line each; "": nothing. */
const char *pl_file_model_doubts(const pl_family *family);

#endif
