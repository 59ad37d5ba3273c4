/* import/file.h - an ONNX file, opened: its messages checked, its weights left where they are.
 *
 * Source: the ONNX specification (onnx/docs/IR.md, ExternalData.md). */
#ifndef PL_IMPORT_FILE_H
#define PL_IMPORT_FILE_H
#include "import/tensor.h"

enum {
    PL_ONNX_FIRST_IR = 3,
    PL_ONNX_LAST_IR = 13,
    PL_ONNX_FIRST_OPSET = 5,
    PL_ONNX_LAST_OPSET = 24
};

typedef struct pl_onnx_file {
    const char *path;
    Onnx__ModelProto *model;   /* the larger payloads of initializers are left out of it         */
    Onnx__GraphProto *graph;   /* of it                                                          */
    int64_t opset;             /* of the default domain                                          */
    int n;                     /* initializers                                                   */
    pl_tensor *tensor;         /* [n] in the order of the graph                                  */
} pl_onnx_file;

/* Open a model; `a` owns what is made of it. Payloads of more than 4 KiB stay in the file. External
 * data may lie in the model's folder and below, and may be absent. Fails with PL_EINPUT:
 * unreadable, no ONNX, a field that cannot be (which tensor or node, which field, the numbers);
 * with PL_EUNSUPPORTED: a version, a type, functions or sparse weights. */
PL_MUST_CHECK bool pl_onnx_file_open(const char *path, pl_arena *a, pl_onnx_file *out, pl_err *err);

/* The same of a model in memory, which keeps payloads whose place would be in its file: `path` is
 * for messages and the folder of external data. */
PL_MUST_CHECK bool pl_onnx_file_parse(const void *bytes, size_t n, const char *path, pl_arena *a,
                                      pl_onnx_file *out, pl_err *err);

/* The graph that an attribute holds (a branch, a loop's body), in the arena; NULL: it is none. */
Onnx__GraphProto *pl_onnx_body(const uint8_t *bytes, size_t n, pl_arena *a);

#endif
