/* Opening a checkpoint. Read pl_checkpoint_open() at the end: the manifest that `latest` names,
 * then the file of tensors, mapped, then each tensor against the manifest (check_tensor).
 * Writing is save.c. */
#include "run/checkpoint.h"

#include "base/file.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/save.h"

#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_MANIFEST = 256 << 20 }; /* bytes: some 1.5 million tensors */

bool pl_checkpoint_save(const char *dir, const pl_manifest *manifest, int n,
                        const pl_saved tensor[], pl_keep keep, pl_err *err)
{
    return pl_save_checkpoint(&pl_file_system, dir, manifest, n, tensor, keep, err);
}

void pl_checkpoint_free(pl_checkpoint *checkpoint)
{
    pl_file_unmap(checkpoint->map, checkpoint->map_bytes);
    *checkpoint = (pl_checkpoint){ 0 };
}

const pl_saved *pl_checkpoint_find(const pl_checkpoint *checkpoint, const char *name)
{
    for (int i = 0; i < checkpoint->n; i++)
        if (!strcmp(checkpoint->tensor[i].name, name)) return &checkpoint->tensor[i];
    return NULL;
}

static int by_manifest_name(const void *a, const void *b)
{
    const pl_manifest_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int by_saved_name(const void *a, const void *b)
{
    const pl_saved *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* What the manifest says of a tensor against what the file holds. */
static bool check_tensor(const pl_manifest_tensor *said, const pl_saved *found, pl_arena *tmp,
                         pl_err *err)
{
    if (said->type != found->type || !pl_shape_same(&said->shape, &found->shape))
        return pl_err_set(err, PL_EINPUT, "tensor '%s' is %s in the manifest, but %s in the file",
                          said->name, pl_shape_text(tmp, said->type, &said->shape),
                          pl_shape_text(tmp, found->type, &found->shape));
    if ((uintptr_t)found->data % (uintptr_t)pl_type_bytes(found->type))
        return pl_err_set(err, PL_EINPUT,
                          "tensor '%s' does not start at a multiple of its element (%lld bytes): "
                          "not a file that pleat wrote",
                          said->name, (long long)pl_type_bytes(found->type));
    const char *hash = pl_manifest_hash(tmp, found->data, (size_t)said->bytes);
    if (!strcmp(hash, said->hash)) return true;
    return pl_err_set(err, PL_EINPUT,
                      "tensor '%s' is damaged: its %lld bytes have XXH3-128 %s, the manifest says "
                      "%s",
                      said->name, (long long)said->bytes, hash, said->hash);
}

/* Walks both lists in order of names, so that a tensor that only one of them has is found. */
static bool check_tensors(const pl_manifest_text *manifest, const pl_checkpoint *checkpoint,
                          pl_arena *tmp, pl_err *err)
{
    const pl_manifest_tensor **said = PL_NEW_N(tmp, const pl_manifest_tensor *, manifest->n);
    const pl_saved **found = PL_NEW_N(tmp, const pl_saved *, checkpoint->n);
    for (int i = 0; i < manifest->n; i++) said[i] = &manifest->tensor[i];
    for (int i = 0; i < checkpoint->n; i++) found[i] = &checkpoint->tensor[i];
    qsort(said, (size_t)manifest->n, sizeof *said, by_manifest_name);
    qsort(found, (size_t)checkpoint->n, sizeof *found, by_saved_name);
    for (int i = 0; i < manifest->n || i < checkpoint->n; i++) {
        int order = i == manifest->n     ? 1
                    : i == checkpoint->n ? -1
                                         : strcmp(said[i]->name, found[i]->name);
        if (order < 0)
            return pl_err_set(err, PL_EINPUT, "tensor '%s' is in the manifest, but not in the file",
                              said[i]->name);
        if (order > 0)
            return pl_err_set(err, PL_EINPUT, "tensor '%s' is in the file, but not in the manifest",
                              found[i]->name);
        PL_TRY(check_tensor(said[i], found[i], tmp, err));
    }
    return true;
}

static bool open_manifest(const char *path, pl_arena *arena, pl_arena *tmp,
                          pl_checkpoint *checkpoint, pl_err *err)
{
    const char *text = NULL;
    size_t n = 0;
    pl_manifest_text manifest;
    PL_TRY(pl_file_read(path, MOST_MANIFEST, tmp, &text, &n, err));
    if (!pl_manifest_read(text, n, arena, &manifest, err)) return pl_err_in(err, "%s", path);
    checkpoint->manifest = manifest.head;
    const char *folder = dirname(pl_arena_text(tmp, path));
    const char *data = pl_file_join(tmp, folder, manifest.file);
    PL_TRY(pl_file_map(data, &checkpoint->map, &checkpoint->map_bytes, err));
    return (pl_safetensors_parse(checkpoint->map, checkpoint->map_bytes, arena, &checkpoint->n,
                                 &checkpoint->tensor, err) &&
            check_tensors(&manifest, checkpoint, tmp, err)) ||
           pl_err_in(err, "%s", data);
}

static bool open_path(const char *path, pl_arena *arena, pl_arena *tmp, pl_checkpoint *checkpoint,
                      pl_err *err)
{
    struct stat s;
    if (stat(path, &s))
        return pl_err_set(err, PL_EINPUT,
                          "%s: cannot open the checkpoint: %s; give a folder or a "
                          "manifest (step-*.json)",
                          path, strerror(errno));
    if (!S_ISDIR(s.st_mode)) return open_manifest(path, arena, tmp, checkpoint, err);
    const char *name = NULL;
    PL_TRY(pl_folder_latest(path, tmp, &name, err));
    pl_err found = { 0 };
    if (open_manifest(pl_file_join(tmp, path, name), arena, tmp, checkpoint, &found)) return true;
    return pl_err_set(err, found.code,
                      "%s; without a good copy of that file, give the step-*.json of an older "
                      "checkpoint instead of the folder",
                      found.msg);
}

bool pl_checkpoint_open(const char *path, pl_arena *arena, pl_checkpoint *out, pl_err *err)
{
    pl_checkpoint checkpoint = { 0 };
    pl_arena *tmp = pl_arena_new("checkpoint open");
    bool ok = open_path(path, arena, tmp, &checkpoint, err);
    pl_arena_free(tmp);
    if (!ok) pl_checkpoint_free(&checkpoint);
    *out = checkpoint;
    return ok;
}
