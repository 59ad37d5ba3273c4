/* import/list.h - which tensors of an ONNX file train, as the exporter wrote it into the file.
 *
 * examples/pleat_export.py leaves JSON under the key "pleat.tensors" of metadata_props:
 *   {"format": "pleat.tensors/1", "exporter": "torch 2.15, torchscript",
 *    "parameters": [{"name": "l.weight", "shape": [5, 8], "trains": true, "file": "l.weight.1"}],
 *    "buffers": [{"name": "bn.running_mean", "shape": [8]}], ...}
 * "file": the initializer, if it has another name. Other members are for people. */
#ifndef PL_IMPORT_LIST_H
#define PL_IMPORT_LIST_H
#include "import/file.h"

typedef struct pl_listed {
    const char *name;      /* the module's                 */
    const pl_tensor *tensor;
    bool parameter, trains; /* a parameter that is frozen does not train; a buffer never does */
} pl_listed;

typedef struct pl_list {
    const char *exporter;  /* "" if it does not say        */
    int n;
    pl_listed *at;         /* [n] in the order of the file's initializers */
} pl_list;

/* The list of a file, or *out = NULL if it has none. `a` owns it. Fails with PL_EINPUT: no such
 * JSON, a name twice, a tensor that the file lacks or has in another shape. */
PL_MUST_CHECK bool pl_list_read(const pl_onnx_file *f, pl_arena *a, pl_list **out, pl_err *err);

const pl_listed *pl_list_find(const pl_list *l, const pl_tensor *t); /* or NULL */

#endif
