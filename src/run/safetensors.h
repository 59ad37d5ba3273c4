/* run/safetensors.h - the safetensors format: 8 bytes header length (little-endian), JSON, data.
 *
 *   {"__metadata__": {text: text}, NAME: {"dtype": "F32", "shape": [2, 3],
 *    "data_offsets": [0, 24]}, ...}
 *
 * Offsets count from the end of the header and cover the data without hole or overlap. Tensors in
 * the files of others may lie at any byte; what we write starts each tensor at a multiple of its
 * element. pl_safetensors_parse of checkpoint.h reads the types that pleat has. */
#ifndef PL_RUN_SAFETENSORS_H
#define PL_RUN_SAFETENSORS_H
#include "run/checkpoint.h"

typedef struct pl_safetensor {
    const char *name, *dtype; /* "F16", as the format spells it            */
    bool ours;                /* one of pleat's types: this one            */
    pl_type type;
    pl_shape shape;
    int64_t bytes;
    const void *data;         /* in the file's bytes, aligned to nothing   */
} pl_safetensor;

/* The tensors of a file, of any type of the format, in the order of their data. Fails with
 * PL_EINPUT, naming the tensor; any bytes in, no crash. */
PL_MUST_CHECK bool pl_safetensors_scan(const void *bytes, size_t n, pl_arena *arena, int *n_out,
                                       pl_safetensor **out, pl_err *err);

/* The first bytes of the file of these tensors, in this order: length, JSON, spaces up to a
 * multiple of 64. Reads no tensor->data. `total` becomes the bytes of the whole file. Fails with
 * PL_EINPUT where no reader would take it: a name twice, "__metadata__", or not UTF-8. */
PL_MUST_CHECK bool pl_safetensors_print(int n, const pl_saved tensor[], pl_arena *arena,
                                        const char **head, size_t *head_bytes, size_t *total,
                                        pl_err *err);

/* Bytes of a tensor; its shape must be valid. */
size_t pl_safetensors_bytes(const pl_saved *tensor);

#endif
