#include "run/save.h"

#include "run/manifest.h"
#include "run/safetensors.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST ".json"
#define TENSORS ".safetensors"

enum { MOST_LATEST = 4096 }; /* bytes of the file `latest` that are read */

/* A file of ours in the folder. */
typedef struct entry {
    const char *name;
    int64_t step, version; /* version > 0: the step was saved before */
    bool is_manifest, is_temp;
} entry;

typedef struct job {
    const pl_file_ops *ops;
    const char *dir;
    pl_arena *arena;
    int n;
    entry *entry;                /* [n] what the folder held before     */
    const char *before;          /* manifest of `latest` then, or NULL  */
    int64_t step, version;       /* of the checkpoint that is written   */
    const char *manifest, *data; /* the names of its two files          */
} job;

static const char *print_name(pl_arena *a, int64_t step, int64_t version, const char *suffix)
{
    if (version)
        return pl_arena_fmt(a, "step-%08lld-%lld%s", (long long)step, (long long)version, suffix);
    return pl_arena_fmt(a, "step-%08lld%s", (long long)step, suffix);
}

/* True when print_name could have made the name: no other file is ever removed. */
static bool parse_name(const char *name, pl_arena *a, entry *e)
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
        *e = (entry){ name, step, version, kinds[i].is_manifest, kinds[i].is_temp };
        return step >= 0 && version >= 0 && version < INT32_MAX &&
               !strcmp(name, print_name(a, step, version, end));
    }
    return false;
}

bool pl_save_read_latest(const char *dir, pl_arena *a, const char **name, pl_err *err)
{
    const char *path = pl_file_join(a, dir, PL_SAVE_LATEST), *text = NULL;
    size_t n = 0;
    struct stat s;
    if (stat(path, &s) && errno == ENOENT)
        return pl_err_set(err, PL_EINPUT,
                          "no checkpoint in '%s': there is no file '" PL_SAVE_LATEST "'; give the "
                          "folder that a training run saved to, or one manifest (step-*.json)",
                          dir);
    PL_TRY(pl_file_read(path, MOST_LATEST, a, &text, &n, err));
    size_t end = strcspn(text, "\n");
    const char *line = pl_arena_span(a, text, end);
    entry e;
    if (end + 1 < n || !parse_name(line, a, &e) || !e.is_manifest || e.is_temp)
        return pl_err_set(err, PL_EINPUT,
                          "%s: one line with the name of a manifest is needed, e.g. "
                          "step-00000040.json; write that of the newest into it",
                          path);
    *name = line;
    return true;
}

static bool remove_file(const job *j, const char *name, pl_err *err)
{
    const char *path = pl_file_join(j->arena, j->dir, name);
    if (!j->ops->unlink(path) || errno == ENOENT) return true;
    return pl_err_set(err, PL_ERUN, "%s: cannot remove: %s", path, strerror(errno));
}

static bool make_folder(const job *j, pl_err *err)
{
    if (mkdir(j->dir, 0777)) {
        if (errno == EEXIST) return true; /* listing it tells whether it is a folder */
        return pl_err_set(err, PL_ERUN, "%s: cannot create the folder: %s; create its parent first",
                          j->dir, strerror(errno));
    }
    return pl_file_sync_folder(j->ops, dirname(pl_arena_text(j->arena, j->dir)), err);
}

bool pl_save_make_folder(const char *dir, pl_err *err)
{
    job j = { .ops = &pl_file_system, .dir = dir, .arena = pl_arena_new("checkpoint folder") };
    struct stat s;
    pl_err found = { 0 };
    bool ok = make_folder(&j, &found);
    pl_arena_free(j.arena);
    if (!ok) return pl_err_set(err, PL_EINPUT, "%s", found.msg);
    if (stat(dir, &s) || !S_ISDIR(s.st_mode))
        return pl_err_set(err, PL_EINPUT, "%s: not a folder; give one for the checkpoints", dir);
    return !access(dir, W_OK | X_OK) ||
           pl_err_set(err, PL_EINPUT, "%s: cannot write checkpoints there: %s", dir,
                      strerror(errno));
}

/* Reads the folder and removes what a killed run left half-written. */
static bool scan_folder(job *j, pl_err *err)
{
    int n = 0;
    const char **name = NULL;
    pl_err none = { 0 };
    if (!pl_save_read_latest(j->dir, j->arena, &j->before, &none)) j->before = NULL;
    if (!pl_file_list(j->dir, j->arena, &n, &name, &none))
        return pl_err_set(err, PL_ERUN, "%s", none.msg);
    j->entry = PL_NEW_N(j->arena, entry, n);
    for (int i = 0; i < n; i++) {
        entry e;
        bool ours = parse_name(name[i], j->arena, &e);
        if (!strcmp(name[i], PL_SAVE_LATEST PL_FILE_TEMP) || (ours && e.is_temp))
            PL_TRY(remove_file(j, name[i], err));
        else if (ours)
            j->entry[j->n++] = e;
    }
    return true;
}

/* The files of a checkpoint that `latest` may name are never written over. */
static void choose_names(job *j)
{
    for (int i = 0; i < j->n; i++)
        if (j->entry[i].step == j->step && j->entry[i].version >= j->version)
            j->version = j->entry[i].version + 1;
    j->manifest = print_name(j->arena, j->step, j->version, MANIFEST);
    j->data = print_name(j->arena, j->step, j->version, TENSORS);
}

/* By falling element size: then every tensor starts at a multiple of its element. */
static pl_saved *sort_tensors(pl_arena *a, int n, const pl_saved tensor[])
{
    pl_saved *sorted = PL_NEW_N(a, pl_saved, n);
    int count = 0;
    for (int64_t bytes = 8; bytes; bytes /= 2)
        for (int i = 0; i < n; i++)
            if (pl_type_bytes(tensor[i].type) == bytes) sorted[count++] = tensor[i];
    PL_ASSERT_CMP(count, ==, n);
    return sorted;
}

static bool print_manifest(const job *j, const pl_manifest *head, int n, const pl_saved tensor[],
                           const char **text, pl_err *err)
{
    pl_manifest_text m = { *head, j->data, n, PL_NEW_N(j->arena, pl_manifest_tensor, n) };
    for (int i = 0; i < n; i++) {
        const pl_saved *s = &tensor[i];
        size_t bytes = pl_safetensors_bytes(s);
        const char *hash = pl_manifest_hash(j->arena, s->data, bytes);
        m.tensor[i] = (pl_manifest_tensor){ s->name, hash, s->type, s->shape, (int64_t)bytes };
    }
    return pl_manifest_print(&m, j->arena, text, err);
}

/* `latest` last: a reader that finds it finds a whole checkpoint. */
static bool write_files(const job *j, int n, const pl_file_part data[], const char *manifest,
                        pl_err *err)
{
    const char *line = pl_arena_fmt(j->arena, "%s\n", j->manifest);
    pl_file_part text = { manifest, strlen(manifest) }, latest = { line, strlen(line) };
    return pl_file_replace(j->ops, j->dir, j->data, n, data, err) &&
           pl_file_replace(j->ops, j->dir, j->manifest, 1, &text, err) &&
           pl_file_replace(j->ops, j->dir, PL_SAVE_LATEST, 1, &latest, err);
}

/* Takes back what was written, unless `latest` names it: a rename that reports failure, or whose
 * folder could not be synced, may have happened. Then says what stays valid. */
static bool give_up(const job *j, const pl_err *found, pl_err *err)
{
    pl_err none = { 0 };
    const char *now = NULL, *next = "make room or give another folder, then save again";
    if (!pl_save_read_latest(j->dir, j->arena, &now, &none)) now = NULL;
    if (now && !strcmp(now, j->manifest))
        return pl_err_set(err, found->code,
                          "%s; checkpoint %s is whole but may not outlive a power failure%s%s; %s",
                          found->msg, j->manifest, j->before ? ", before it " : "",
                          j->before ? j->before : "", next);
    j->ops->unlink(pl_file_join(j->arena, j->dir, j->manifest)); /* else the next save does it */
    j->ops->unlink(pl_file_join(j->arena, j->dir, j->data));
    if (j->before)
        return pl_err_set(err, found->code, "%s; %s stays the latest checkpoint: %s", found->msg,
                          j->before, next);
    return pl_err_set(err, found->code, "%s; there is no earlier checkpoint in %s: %s", found->msg,
                      j->dir, next);
}

/* Newest first. Steps beyond the one just written are of a run that was given up: oldest. */
static int compare_age(const job *j, const entry *a, const entry *b)
{
    bool a_beyond = a->step > j->step, b_beyond = b->step > j->step;
    if (a_beyond != b_beyond) return a_beyond ? 1 : -1;
    if (a->step != b->step) return a->step > b->step ? -1 : 1;
    if (a->version != b->version) return a->version > b->version ? -1 : 1;
    return b->is_manifest - a->is_manifest; /* removed before its data */
}

static int by_age(const void *a, const void *b, void *of)
{
    return compare_age(of, a, b);
}

/* Leaves the checkpoint just written and the keep - 1 newest of those found before; a manifest
 * without data, or the reverse, is what a killed run left. */
static bool prune(job *j, int keep, pl_err *err)
{
    if (j->n) qsort_r(j->entry, (size_t)j->n, sizeof *j->entry, by_age, j);
    int kept = 1, next;
    for (int i = 0; i < j->n; i = next) {
        const entry *e = &j->entry[i];
        next = i + 1;
        if (next < j->n && e[1].step == e->step && e[1].version == e->version) next++;
        if (next == i + 2 && kept < keep) {
            kept++;
            continue;
        }
        for (int k = i; k < next; k++)
            if (!remove_file(j, j->entry[k].name, err))
                return pl_err_in(err,
                                 "checkpoint %s is saved and the latest, but an older one is "
                                 "in the way",
                                 j->manifest);
    }
    return true;
}

static bool save(job *j, const pl_manifest *head, int n, const pl_saved tensor[], int keep,
                 pl_err *err)
{
    PL_TRY(make_folder(j, err));
    PL_TRY(scan_folder(j, err));
    choose_names(j);
    const pl_saved *sorted = sort_tensors(j->arena, n, tensor);
    pl_file_part *part = PL_NEW_N(j->arena, pl_file_part, n + 1);
    const char *first = NULL, *manifest = NULL;
    size_t total = 0;
    PL_TRY(pl_safetensors_print(n, sorted, j->arena, &first, &part[0].bytes, &total, err));
    part[0].data = first;
    for (int i = 0; i < n; i++)
        part[i + 1] = (pl_file_part){ sorted[i].data, pl_safetensors_bytes(&sorted[i]) };
    PL_TRY(print_manifest(j, head, n, sorted, &manifest, err));
    pl_err found = { 0 };
    if (!write_files(j, n + 1, part, manifest, &found)) return give_up(j, &found, err);
    return prune(j, keep, err);
}

bool pl_save_checkpoint(const pl_file_ops *ops, const char *dir, const pl_manifest *m, int n,
                        const pl_saved tensor[], int keep, pl_err *err)
{
    PL_ASSERT_CMP(n, >=, 0);
    PL_ASSERT_CMP(keep, >=, 1);
    job j = { .ops = ops, .dir = dir, .arena = pl_arena_new("checkpoint save"), .step = m->step };
    bool ok = save(&j, m, n, tensor, keep, err);
    pl_arena_free(j.arena);
    return ok;
}
