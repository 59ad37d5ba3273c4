/* run/manifest.h - the manifest of a checkpoint as JSON text: print and parse. No files here. */
#ifndef PL_RUN_MANIFEST_H
#define PL_RUN_MANIFEST_H
#include "run/checkpoint.h"

/* What the manifest says of one tensor. */
typedef struct pl_manifest_tensor {
    const char *name, *hash; /* hash: XXH3-128 of the data, 32 hexadecimal digits */
    pl_type type;
    pl_shape shape;
    int64_t bytes;
} pl_manifest_tensor;

typedef struct pl_manifest_text {
    pl_manifest head;
    const char *file; /* name of the safetensors file, in the same folder */
    int n;
    pl_manifest_tensor *tensor; /* [n] in file order */
} pl_manifest_text;

/* Same manifest, same bytes. NULL texts of the head print as "", NULL settings as {}. What is
 * printed can be parsed: fails with PL_EINPUT where it could not be (settings that are no JSON
 * object, a text that is not UTF-8, a negative count). */
PL_MUST_CHECK bool pl_manifest_print(const pl_manifest_text *manifest, pl_arena *arena,
                                     const char **text, pl_err *err);

/* All of it, where pl_manifest_parse gives the head alone. `arena` owns every text. */
PL_MUST_CHECK bool pl_manifest_read(const char *text, size_t n, pl_arena *arena,
                                    pl_manifest_text *out, pl_err *err);

/* XXH3-128 of bytes, 32 hexadecimal digits, most significant first. */
const char *pl_manifest_hash(pl_arena *arena, const void *data, size_t bytes);

#endif
