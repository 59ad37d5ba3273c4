/* import/origin.h - what a file says of where its initializers come from: PyTorch's names, what was
 * a parameter, what a buffer, what an exporter computed.
 *
 * Told by, in this order: the list of pleat_export.py (import/list.h); the signature that torch's
 * exporter with dynamo=True leaves in metadata_props (of value_info InputSpec.kind and folded_from,
 * of the graph graph_signature); names of nodes, "/layers.0/q_proj/MatMul", of the other. */
#ifndef PL_IMPORT_ORIGIN_H
#define PL_IMPORT_ORIGIN_H
#include "import/list.h"

typedef enum pl_origin_kind {
    PL_ORIGIN_UNSAID,
    PL_ORIGIN_PARAMETER,
    PL_ORIGIN_FROZEN,    /* a parameter that does not train                                */
    PL_ORIGIN_BUFFER,
    PL_ORIGIN_FOLDED,    /* an exporter computed it of `from`                              */
} pl_origin_kind;

typedef struct pl_origin {
    pl_origin_kind kind;
    const char *name;    /* of the state that it becomes: PyTorch's where that is known    */
    const char *from;    /* FOLDED: a parameter's name; else NULL                          */
    bool transposed;     /* [in,out] where PyTorch has [out,in]                            */
} pl_origin;

typedef struct pl_origins {
    const pl_list *list; /* NULL: none                                                     */
    bool signature;      /* the file tells parameters from buffers itself                  */
    pl_origin *at;       /* [n] by initializer                                             */
    int n_missing, missing_cap;
    const char **missing; /* parameters of the signature that are not in the file, nor in
                            what was computed of them                                      */
} pl_origins;

/* Fails as pl_list_read. */
PL_MUST_CHECK bool pl_origins_read(const pl_onnx_file *f, pl_arena *a, pl_origins *out,
                                   pl_err *err);

/* The module that a node belongs to, "layers.0.self_attn"; "": the top, or nothing is said. */
const char *pl_origin_scope(const Onnx__NodeProto *n, pl_arena *a);

/* Is a name an exporter's own: "onnx::MatMul_123", or, where no signature says, "val_48"? */
bool pl_origin_is_made(const pl_origins *o, const char *name);

#endif
