/* run/folder.h - the names in a folder of checkpoints. */
#ifndef PL_RUN_FOLDER_H
#define PL_RUN_FOLDER_H
#include "base/file.h"

#define PL_FOLDER_LATEST "latest"

/* A file of ours in the folder. */
typedef struct pl_folder_entry {
    const char *name;
    int64_t step, version;     /* version > 0: the step was saved before */
    bool is_manifest, is_temp; /* else its tensors; still being written  */
} pl_folder_entry;

/* "step-00000040.json", or "step-00000040-1.json" of version 1; the same for its tensors. */
const char *pl_folder_manifest(pl_arena *arena, int64_t step, int64_t version);
const char *pl_folder_tensors(pl_arena *arena, int64_t step, int64_t version);

/* True when one of the two above could have made the name, or that and PL_FILE_TEMP: no other file
 * is ever removed. `entry` keeps the name. */
PL_MUST_CHECK bool pl_folder_parse(const char *name, pl_arena *arena, pl_folder_entry *entry);

/* The name of the manifest that `latest` of a folder names. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_folder_latest(const char *dir, pl_arena *arena, const char **name,
                                    pl_err *err);

/* Makes the folder, unless there is something of that name. Fails with PL_ERUN. */
PL_MUST_CHECK bool pl_folder_make(const pl_file_ops *ops, const char *dir, pl_err *err);

/* Before a long run: the folder exists (it is made if need be) and files can be made in it. Fails
 * with PL_EINPUT. */
PL_MUST_CHECK bool pl_folder_open(const char *dir, pl_err *err);

#endif
