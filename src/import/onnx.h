/* import/onnx.h - an ONNX model as a graph. */
#ifndef PL_IMPORT_ONNX_H
#define PL_IMPORT_ONNX_H
#include "graph/graph.h"
#include "import/file.h"

/* An input or output of the file. */
typedef struct pl_onnx_port {
    const char *name;
    pl_type type;
    int rank;
    int64_t dim[PL_MAX_RANK];          /* -1: symbolic                       */
    const char *symbol[PL_MAX_RANK];   /* its name, "batch"; "" if it has none */
} pl_onnx_port;

typedef struct pl_onnx {
    pl_onnx_file file;
    int n_in, n_out;
    pl_onnx_port *in, *out; /* inputs that are no initializers */
} pl_onnx;

/* A symbolic dimension is of this size. */
typedef struct pl_onnx_bind {
    const char *symbol;
    int64_t size;
} pl_onnx_bind;

/* An input is this constant. */
typedef struct pl_onnx_fixed {
    const char *input;
    pl_tensor tensor;
} pl_onnx_fixed;

typedef struct pl_onnx_options {
    int n_binds, n_fixed;
    const pl_onnx_bind *bind;
    const pl_onnx_fixed *fixed;
    bool train; /* dropout and batch statistics where nodes ask for them */
} pl_onnx_options;

/* Open a file; `a` owns all of it. Fails as pl_onnx_file_open, and when an input's type is not
 * supported. */
PL_MUST_CHECK bool pl_onnx_open(const char *path, pl_arena *a, pl_onnx **out, pl_err *err);
PL_MUST_CHECK bool pl_onnx_parse(const void *bytes, size_t n, const char *path, pl_arena *a,
                                 pl_onnx **out, pl_err *err);

/* Add the graph: inputs, states "file" (a tensor of that name in the file) and "values ..." (in
 * row-major order), nodes. output[i] becomes the value of the file's output i.
 *
 * Float initializers of rank 1 and more are weights and train, but for running statistics and the
 * buffers that transformers' models are known to keep; scalars
 * are constants but for those of a submodule ("model.logit_scale"). Of those that an
 * exporter made and named ("val_48", "onnx::MatMul_123") only what nodes use as weights trains, and
 * the transposed copy of a table of embeddings is tied to it. Equal weights that the file has once
 * are one weight, but for those of one value that have names of their own (Identity): a new
 * module's biases. Fails (sticky error
 * of b) with PL_EUNSUPPORTED, naming all operators that are not known with their counts and first
 * nodes; with PL_EINPUT, naming the node: a symbol that is not bound, names that are missing or
 * given twice, shapes that do not fit. */
void pl_onnx_add(pl_builder *b, const pl_onnx *f, const pl_onnx_options *o, pl_value *output[]);

/* Is there a mapping for this operator of ONNX? And their number and names. */
bool pl_onnx_knows(const char *op);
int pl_onnx_n_known(void);
const char *pl_onnx_known(int i);

#endif
