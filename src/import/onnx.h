/* import/onnx.h - an ONNX model as a graph. */
#ifndef PL_IMPORT_ONNX_H
#define PL_IMPORT_ONNX_H
#include "graph/graph.h"
#include "base/text.h"
#include "import/origin.h"

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
    pl_origins origins;
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
    /* Initializers by their names or the module's: globs with ';' between them, or "@FILE", a name
     * or glob a line; NULL or "": as the file says, else a guess. */
    const char *weights; /* these train, and no others */
    const char *frozen;  /* these do not               */
    bool guess;          /* also where a guess learns badly */
    pl_text *doubts;     /* what a guess leaves open, a line each; or NULL */
} pl_onnx_options;

/* Open a file; `a` owns all of it. Fails as pl_onnx_file_open, and when an input's type is not
 * supported. */
PL_MUST_CHECK bool pl_onnx_open(const char *path, pl_arena *a, pl_onnx **out, pl_err *err);
PL_MUST_CHECK bool pl_onnx_parse(const void *bytes, size_t n, const char *path, pl_arena *a,
                                 pl_onnx **out, pl_err *err);

/* Add the graph: inputs, states "file" (a tensor of that name in the file) and "values ..." (in
 * row-major order), nodes. output[i] becomes the value of the file's output i.
 *
 * What trains: the float initializers that `weights` names; else those that the file says are
 * parameters (import/origin.h: the list of pleat_export.py, or the signature of torch's exporter);
 * else a guess (weights.c), with its doubts told. Never those of `frozen`. States have PyTorch's
 * names where the file lets them be known.
 *
 * Fails (sticky error of b) with PL_EUNSUPPORTED, naming all operators that are not known with
 * their counts and first nodes; with PL_EINPUT, naming the node: a symbol that is not bound, names
 * that are missing or given twice, shapes that do not fit; a glob that matches nothing; a guess
 * that would learn badly, unless `guess`: constants computed of weights, weights that were merged,
 * ties that may be none. */
void pl_onnx_add(pl_builder *b, const pl_onnx *f, const pl_onnx_options *o, pl_value *output[]);

/* The initializer that a state of initial value "file" starts from, or NULL. */
const pl_tensor *pl_onnx_tensor(const pl_onnx *f, const char *state);

/* Is there a mapping for this operator of ONNX? And their number and names. */
bool pl_onnx_knows(const char *op);
int pl_onnx_n_known(void);
const char *pl_onnx_known(int i);

#endif
