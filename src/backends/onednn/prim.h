/* backends/onednn/prim.h - one oneDNN primitive, its memory objects and the reorders around it.
 *
 * Every pl_prim belongs to one thread: a primitive must not run in two at once. Its arguments are
 * "parts" whose plain layout the caller states; where the primitive wants another layout or type,
 * the part is reordered into scratch before (inputs) or from scratch after (outputs). */
#ifndef PL_BACKENDS_ONEDNN_PRIM_H
#define PL_BACKENDS_ONEDNN_PRIM_H
#include "graph/share.h"

#include <oneapi/dnnl/dnnl.h>

enum { PL_PRIM_PARTS = 3, PL_PRIM_DIMS = DNNL_MAX_NDIMS };

typedef struct pl_prim_part {
    int arg;                  /* DNNL_ARG_SRC ...                           */
    bool is_output;
    dnnl_memory_desc_t plain; /* as the data of pl_prim_run is laid out     */
} pl_prim_part;

typedef struct pl_prim {
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t scratchpad; /* NULL: none wanted                          */
    int64_t scratchpad_at;    /* bytes from the start of the scratch memory */
    int n;
    struct {
        int arg;
        bool is_output;
        dnnl_memory_t plain, wanted;          /* the same object when nothing is reordered */
        dnnl_primitive_t reorder;
        int64_t wanted_at;
    } part[PL_PRIM_PARTS];
} pl_prim;

/* "oneDNN: <what>: <status>"; true when the status is success. */
PL_MUST_CHECK bool pl_prim_check(dnnl_status_t status, const char *what, pl_err *err);

/* Row-major or any other order: dims and steps [n], in elements. Type f32 or bf16. */
PL_MUST_CHECK bool pl_prim_layout(int n, const int64_t dim[], const int64_t step[], pl_type type,
                                  dnnl_memory_desc_t *out, pl_err *err);

/* A primitive of the operation `desc`, with user scratchpad; its result is added to the output when
 * `add`. `hint`: forward descriptor of a backward operation, or NULL. Created for n_threads OpenMP
 * threads of the caller. Fails when oneDNN has none for this CPU, layout or type. */
PL_MUST_CHECK bool pl_prim_describe(dnnl_engine_t engine, const_dnnl_op_desc_t desc,
                                    const_dnnl_primitive_desc_t hint, bool add, int n_threads,
                                    dnnl_primitive_desc_t *out, pl_err *err);

/* Takes over `pd`, also when it fails. *scratch_bytes grows by what this one needs, 64-byte
 * aligned. p is freed by pl_prim_free, also when this fails. */
PL_MUST_CHECK bool pl_prim_make(pl_prim *p, dnnl_engine_t engine, dnnl_primitive_desc_t pd, int n,
                                const pl_prim_part part[], int n_threads, int64_t *scratch_bytes,
                                pl_err *err);

/* A pure copy from one layout and type to another: parts 0 (in) and 1 (out). */
PL_MUST_CHECK bool pl_prim_make_copy(pl_prim *p, dnnl_engine_t engine,
                                     const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                                     int n_threads, int64_t *scratch_bytes, pl_err *err);

void pl_prim_run(pl_prim *p, void *const data[], void *scratch);
void pl_prim_free(pl_prim *p); /* {0} is fine */

#endif
