/* Writing a checkpoint. Read save() near the end: names that are free, tensors in order, files,
 * `latest`, and last prune(), which removes what need not stay. */
#include "run/save.h"

#include "run/folder.h"
#include "run/manifest.h"
#include "run/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MANIFEST = 256 << 20 }; /* bytes: some 1.5 million tensors */

typedef struct job {
    const pl_file_ops *ops;
    const char *dir;
    pl_arena *arena;
    int n;
    pl_folder_entry *entry;      /* [n] what the folder held before     */
    const char *before;          /* manifest of `latest` then, or NULL  */
    int64_t step, version;       /* of the checkpoint that is written   */
    const char *manifest, *data; /* the names of its two files          */
} job;

static bool remove_file(const job *j, const char *name, pl_err *err)
{
    const char *path = pl_file_join(j->arena, j->dir, name);
    if (!j->ops->unlink(path) || errno == ENOENT) return true;
    return pl_err_set(err, PL_ERUN, "%s: cannot remove: %s", path, strerror(errno));
}

/* Reads the folder and removes what a killed run left half-written. */
static bool scan_folder(job *j, pl_err *err)
{
    int n = 0;
    const char **name = NULL;
    pl_err none = { 0 };
    if (!pl_folder_latest(j->dir, j->arena, &j->before, &none)) j->before = NULL;
    if (!pl_file_list(j->dir, j->arena, &n, &name, &none))
        return pl_err_set(err, PL_ERUN, "%s", none.msg);
    j->entry = PL_NEW_N(j->arena, pl_folder_entry, n);
    for (int i = 0; i < n; i++) {
        pl_folder_entry e;
        bool ours = pl_folder_parse(name[i], j->arena, &e);
        if (!strcmp(name[i], PL_FOLDER_LATEST PL_FILE_TEMP) || (ours && e.is_temp))
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
    j->manifest = pl_folder_manifest(j->arena, j->step, j->version);
    j->data = pl_folder_tensors(j->arena, j->step, j->version);
}

/* By falling element size: then every tensor starts at a multiple of its element. */
static pl_saved *sort_tensors(pl_arena *arena, int n, const pl_saved tensor[])
{
    pl_saved *sorted = PL_NEW_N(arena, pl_saved, n);
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
    pl_manifest_text manifest = { *head, j->data, n, PL_NEW_N(j->arena, pl_manifest_tensor, n) };
    for (int i = 0; i < n; i++) {
        const pl_saved *s = &tensor[i];
        size_t bytes = pl_safetensors_bytes(s);
        const char *hash = pl_manifest_hash(j->arena, s->data, bytes);
        manifest.tensor[i] =
            (pl_manifest_tensor){ s->name, hash, s->type, s->shape, (int64_t)bytes };
    }
    return pl_manifest_print(&manifest, j->arena, text, err);
}

/* `latest` last: a reader that finds it finds a whole checkpoint. */
static bool write_files(const job *j, int n, const pl_file_part data[], const char *manifest,
                        pl_err *err)
{
    const char *line = pl_arena_fmt(j->arena, "%s\n", j->manifest);
    pl_file_part text = { manifest, strlen(manifest) }, latest = { line, strlen(line) };
    return pl_file_replace(j->ops, j->dir, j->data, n, data, err) &&
           pl_file_replace(j->ops, j->dir, j->manifest, 1, &text, err) &&
           pl_file_replace(j->ops, j->dir, PL_FOLDER_LATEST, 1, &latest, err);
}

/* Takes back what was written, unless `latest` names it: a rename that reports failure, or whose
 * folder could not be synced, may have happened. Then says what stays valid. */
static bool give_up(const job *j, const pl_err *found, pl_err *err)
{
    pl_err none = { 0 };
    const char *now = NULL, *next = "make room or give another folder, then save again";
    if (!pl_folder_latest(j->dir, j->arena, &now, &none)) now = NULL;
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
static int compare_age(const job *j, const pl_folder_entry *a, const pl_folder_entry *b)
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

/* Is the checkpoint in the folder one of `run`'s? What cannot be read is not. */
static bool is_of_run(const job *j, const pl_folder_entry *entry, const char *run)
{
    const char *text, *path = pl_file_join(j->arena, j->dir, entry->name);
    size_t n;
    pl_manifest manifest;
    pl_err none = { 0 };
    return *run && pl_file_read(path, MOST_MANIFEST, j->arena, &text, &n, &none) &&
           pl_manifest_parse(text, n, j->arena, &manifest, &none) && !strcmp(manifest.run, run);
}

typedef enum owner { HALF, OWN, OTHER } owner;

/* Files of the checkpoint whose first entry is number i: two, or a half without the other. */
static int count_files(const job *j, int i)
{
    const pl_folder_entry *e = &j->entry[i];
    return i + 1 < j->n && e[1].step == e->step && e[1].version == e->version ? 2 : 1;
}

static owner find_owner(const job *j, int i, const char *run)
{
    return count_files(j, i) == 1 ? HALF : is_of_run(j, &j->entry[i], run) ? OWN : OTHER;
}

static bool remove_checkpoint(const job *j, int i, int n, pl_err *err)
{
    for (int k = i; k < i + n; k++)
        if (!remove_file(j, j->entry[k].name, err))
            return pl_err_in(err,
                             "checkpoint %s is saved and the latest, but an older one is in the "
                             "way",
                             j->manifest);
    return true;
}

/* Leaves the checkpoint just written, the newest of this run before it, and those of other runs. A
 * half is what this run left when it was killed, where there are no others' that it may be of. */
static bool prune(job *j, const char *run, pl_keep keep, pl_err *err)
{
    owner *of = PL_NEW_N(j->arena, owner, j->n + 1);
    bool alone = true;
    int kept = 1;
    if (j->n) qsort_r(j->entry, (size_t)j->n, sizeof *j->entry, by_age, j);
    for (int i = 0; i < j->n; i += count_files(j, i)) {
        of[i] = find_owner(j, i, run);
        alone &= of[i] != OTHER;
    }
    for (int i = 0; i < j->n; i += count_files(j, i)) {
        bool stays =
            of[i] == OWN ? kept < keep.newest : !keep.others_go && (of[i] == OTHER || !alone);
        if (!stays) PL_TRY(remove_checkpoint(j, i, count_files(j, i), err));
        kept += stays && of[i] == OWN;
    }
    return true;
}

static bool save(job *j, const pl_manifest *head, int n, const pl_saved tensor[], pl_keep keep,
                 pl_err *err)
{
    PL_TRY(pl_folder_make(j->ops, j->dir, err));
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
    return prune(j, head->run ? head->run : "", keep, err);
}

bool pl_save_checkpoint(const pl_file_ops *ops, const char *dir, const pl_manifest *manifest, int n,
                        const pl_saved tensor[], pl_keep keep, pl_err *err)
{
    PL_ASSERT_CMP(n, >=, 0);
    PL_ASSERT_CMP(keep.newest, >=, 1);
    job j = {
        .ops = ops, .dir = dir, .arena = pl_arena_new("checkpoint save"), .step = manifest->step
    };
    bool ok = save(&j, manifest, n, tensor, keep, err);
    pl_arena_free(j.arena);
    return ok;
}
