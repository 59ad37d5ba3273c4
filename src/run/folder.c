/* The names of checkpoints: which files of a folder are ours (pl_folder_parse), and which one is
 * the newest (pl_folder_latest). */
#include "run/folder.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST ".json"
#define TENSORS ".safetensors"

enum { MOST_LATEST = 4096 }; /* bytes of the file `latest` that are read */

static const char *print_name(pl_arena *a, int64_t step, int64_t version, const char *suffix)
{
    if (version)
        return pl_arena_fmt(a, "step-%08lld-%lld%s", (long long)step, (long long)version, suffix);
    return pl_arena_fmt(a, "step-%08lld%s", (long long)step, suffix);
}

const char *pl_folder_manifest(pl_arena *arena, int64_t step, int64_t version)
{
    return print_name(arena, step, version, MANIFEST);
}

const char *pl_folder_tensors(pl_arena *arena, int64_t step, int64_t version)
{
    return print_name(arena, step, version, TENSORS);
}

bool pl_folder_parse(const char *name, pl_arena *arena, pl_folder_entry *entry)
{
    static const struct {
        const char *suffix;
        bool is_manifest, is_temp;
    } kinds[] = {
        { MANIFEST, true, false },
        { TENSORS, false, false },
        { MANIFEST PL_FILE_TEMP, true, true },
        { TENSORS PL_FILE_TEMP, false, true },
    };
    if (strncmp(name, "step-", 5) != 0) return false;
    char *end;
    int64_t step = strtoll(name + 5, &end, 10), version = 0;
    if (*end == '-') version = strtoll(end + 1, &end, 10);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(end, kinds[i].suffix) != 0) continue;
        *entry = (pl_folder_entry){ name, step, version, kinds[i].is_manifest, kinds[i].is_temp };
        return step >= 0 && version >= 0 && version < INT32_MAX &&
               !strcmp(name, print_name(arena, step, version, end));
    }
    return false;
}

bool pl_folder_latest(const char *dir, pl_arena *arena, const char **name, pl_err *err)
{
    const char *path = pl_file_join(arena, dir, PL_FOLDER_LATEST), *text = NULL;
    size_t n = 0;
    struct stat s;
    if (stat(path, &s) && errno == ENOENT)
        return pl_err_set(err, PL_EINPUT,
                          "no checkpoint in '%s': there is no file '" PL_FOLDER_LATEST
                          "'; give the "
                          "folder that a training run saved to, or one manifest (step-*.json)",
                          dir);
    PL_TRY(pl_file_read(path, MOST_LATEST, arena, &text, &n, err));
    size_t end = strcspn(text, "\n");
    const char *line = pl_arena_span(arena, text, end);
    pl_folder_entry e;
    if (end + 1 < n || !pl_folder_parse(line, arena, &e) || !e.is_manifest || e.is_temp)
        return pl_err_set(err, PL_EINPUT,
                          "%s: one line with the name of a manifest is needed, e.g. "
                          "step-00000040.json; write that of the newest into it",
                          path);
    *name = line;
    return true;
}

bool pl_folder_make(const pl_file_ops *ops, const char *dir, pl_err *err)
{
    if (!mkdir(dir, 0777)) {
        pl_arena *tmp = pl_arena_new("parent folder");
        bool ok = pl_file_sync_folder(ops, dirname(pl_arena_text(tmp, dir)), err);
        pl_arena_free(tmp);
        return ok;
    }
    return errno == EEXIST || /* listing it tells whether it is a folder */
           pl_err_set(err, PL_ERUN, "%s: cannot create the folder: %s; %s", dir, strerror(errno),
                      errno == ENOENT ? "create its parent first" : "give another folder");
}

bool pl_folder_open(const char *dir, pl_err *err)
{
    pl_err found = { 0 };
    if (!pl_folder_make(&pl_file_system, dir, &found))
        return pl_err_set(err, PL_EINPUT, "%s", found.msg);
    if (!pl_file_is_folder(dir))
        return pl_err_set(err, PL_EINPUT, "%s: not a folder; give one for the checkpoints", dir);
    return !access(dir, W_OK | X_OK) ||
           pl_err_set(err, PL_EINPUT, "%s: cannot write checkpoints there: %s", dir,
                      strerror(errno));
}
