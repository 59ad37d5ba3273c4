/* run/save.h - write a checkpoint, and the names in its folder. */
#ifndef PL_RUN_SAVE_H
#define PL_RUN_SAVE_H
#include "base/file.h"
#include "run/checkpoint.h"

#define PL_SAVE_LATEST "latest"

/* pl_checkpoint_save through given system calls (tests let one of them fail).
 *
 * A step that is saved again while its first version is still there becomes step-00000040-1.*: the
 * files of the latest checkpoint are never written over. Tensors are stored in order of falling
 * element size, else as given, so that each is aligned to its element. */
PL_MUST_CHECK bool pl_save_checkpoint(const pl_file_ops *ops, const char *dir, const pl_manifest *m,
                                      int n, const pl_saved tensor[], int keep, pl_err *err);

/* Before a long run: the folder exists (it is made if need be) and files can be made in it. Fails
 * with PL_EINPUT. */
PL_MUST_CHECK bool pl_save_make_folder(const char *dir, pl_err *err);

/* The name of the manifest that `latest` of a folder names. Fails with PL_EINPUT. */
PL_MUST_CHECK bool pl_save_read_latest(const char *dir, pl_arena *a, const char **name,
                                       pl_err *err);

#endif
