/* run/checkpoint.h - tensors on disk: safetensors files and the manifest beside them.
 *
 * A checkpoint folder DIR holds
 *   step-00000040.safetensors   the tensors (safetensors format 0.x: 8-byte little-endian header
 *                               length, JSON header, data; readable by the public library)
 *   step-00000040.json          its manifest: version, run, model, step, seed, data position,
 *                               free-form settings, and name, type, shape, bytes and XXH3-128 hash
 *                               per tensor
 *   latest                      one line: the name of the newest complete manifest
 * Crash-consistent: each file is written to a temporary name, fsynced, renamed, and the folder
 * fsynced, in that order; `latest` last. A reader that finds `latest` finds a whole checkpoint; the
 * previous checkpoint is removed only after that, and only when it is of the same run. */
#ifndef PL_RUN_CHECKPOINT_H
#define PL_RUN_CHECKPOINT_H
#include "base/arena.h"
#include "graph/type.h"

enum { PL_CHECKPOINT_VERSION = 1 };

/* One tensor of a checkpoint; `name` is unique. */
typedef struct pl_saved {
    const char *name;
    pl_type type;
    pl_shape shape;
    const void *data; /* writing: the caller's memory; reading: inside the mapped file */
} pl_saved;

typedef struct pl_manifest {
    const char *model;   /* the full model spec, e.g. "gpt2:layers=4,..."; must match on resume */
    int64_t step;        /* updates done                                                        */
    uint64_t seed;
    int64_t data_step;   /* batches drawn                                                       */
    const char *data;    /* data file as given, with its bytes and hash in data_bytes, data_hash */
    int64_t data_bytes;
    const char *data_hash;
    const char *settings; /* a JSON object of the training settings, as text                     */
    const char *run;      /* whose it is: the same text in all of a run (pl_claim); "" in those of
                             older versions, which are no run's                                  */
} pl_manifest;

/* What stays in a folder when a checkpoint has been added. */
typedef struct pl_keep {
    int newest;     /* of this run's, >= 1                                    */
    bool others_go; /* those of other runs are removed; else they all stay    */
} pl_keep;

/* Write one checkpoint, make it the latest, then remove what `keep` does not hold. Fails with
 * PL_ERUN (disk full, no permission: the file, the bytes wanted, what stays valid) and leaves the
 * previous checkpoint whole and no temporary file behind. */
PL_MUST_CHECK bool pl_checkpoint_save(const char *dir, const pl_manifest *manifest, int n,
                                      const pl_saved tensor[], pl_keep keep, pl_err *err);

/* An open checkpoint: the file is mapped read-only until it is freed. */
typedef struct pl_checkpoint {
    pl_manifest manifest;
    int n;
    pl_saved *tensor;   /* [n] in file order */
    void *map;          /* private           */
    size_t map_bytes;
} pl_checkpoint;

/* Open the latest checkpoint of a folder (or, when `path` is a manifest file, that one), and check
 * everything: version, sizes, types, offsets (no overlap, no hole, inside the file), hash of every
 * tensor. Fails with PL_EINPUT naming the file and what is wrong; never returns a half-read state.
 * `arena` owns all but the mapping. */
PL_MUST_CHECK bool pl_checkpoint_open(const char *path, pl_arena *arena, pl_checkpoint *out,
                                      pl_err *err);
void pl_checkpoint_free(pl_checkpoint *checkpoint);
const pl_saved *pl_checkpoint_find(const pl_checkpoint *checkpoint, const char *name); /* or NULL */

/* The two parsers, for the fuzz targets: any bytes in, no crash. */
PL_MUST_CHECK bool pl_safetensors_parse(const void *bytes, size_t n, pl_arena *arena, int *n_out,
                                        pl_saved **out, pl_err *err);
PL_MUST_CHECK bool pl_manifest_parse(const char *text, size_t n, pl_arena *arena, pl_manifest *out,
                                     pl_err *err);

#endif
