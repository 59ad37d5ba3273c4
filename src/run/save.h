/* run/save.h - write a checkpoint. */
#ifndef PL_RUN_SAVE_H
#define PL_RUN_SAVE_H
#include "base/file.h"
#include "run/checkpoint.h"

/* pl_checkpoint_save through given system calls (tests let one of them fail).
 *
 * A step that is saved again while its first version is still there becomes step-00000040-1.*: the
 * files of the latest checkpoint are never written over. Tensors are stored in order of falling
 * element size, else as given, so that each is aligned to its element. */
PL_MUST_CHECK bool pl_save_checkpoint(const pl_file_ops *ops, const char *dir,
                                      const pl_manifest *manifest, int n, const pl_saved tensor[],
                                      pl_keep keep, pl_err *err);

#endif
