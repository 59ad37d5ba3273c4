#include "train/weights.h"

#include "base/file.h"
#include "graph/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_INDEX = 256 << 20, /* bytes */
    DEPTH = 8,              /* of an index; its metadata may nest */
    TOLD = 3,               /* names in a list                    */
};

static const char index_name[] = "model.safetensors.index.json";

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

/* -- an index ---------------------------------------------------------------------------------- */

typedef struct row {
    const char *name, *file;
} row;

static int by_file(const void *left, const void *right)
{
    const row *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    return order ? order : strcmp(a->name, b->name);
}

static bool read_rows(json_t *map, pl_arena *a, row *rows, pl_err *err)
{
    int n = 0;
    for (void *i = json_object_iter(map); i; i = json_object_iter_next(map, i), n++) {
        const char *file = json_string_value(json_object_iter_value(i));
        rows[n].name = pl_arena_text(a, json_object_iter_key(i));
        if (!file || !pl_file_is_below(file))
            return pl_err_set(err, PL_EINPUT,
                              "'weight_map': '%.100s' is in '%.100s': it has to be a path below "
                              "the folder, without '..'",
                              rows[n].name, file ? file : "");
        rows[n].file = pl_arena_text(a, file);
    }
    return true;
}

static bool read_map(json_t *root, pl_arena *a, pl_weights_index *out, pl_err *err)
{
    json_t *map = json_object_get(root, "weight_map");
    if (!json_is_object(map) || !json_object_size(map))
        return pl_err_set(err, PL_EINPUT, "'weight_map' is missing, empty or no object");
    size_t n = json_object_size(map);
    row *rows = PL_NEW_N(a, row, n);
    PL_TRY(read_rows(map, a, rows, err));
    qsort(rows, n, sizeof *rows, by_file);
    *out = (pl_weights_index){ (int)n, PL_NEW_N(a, const char *, n), PL_NEW_N(a, const char *, n) };
    for (size_t i = 0; i < n; i++) out->name[i] = rows[i].name, out->file[i] = rows[i].file;
    return true;
}

bool pl_weights_parse(const char *json, size_t n, pl_arena *a, pl_weights_index *out, pl_err *err)
{
    json_t *root = NULL;
    PL_TRY(pl_json_parse(json, n, DEPTH, &root, err));
    bool ok = read_map(root, a, out, err);
    json_decref(root);
    return ok;
}

/* -- opening ----------------------------------------------------------------------------------- */

static bool open_file(pl_weights *w, const char *path, pl_arena *a, pl_err *err)
{
    PL_TRY(pl_tensors_open(path, a, &w->file[w->n_files], err));
    w->n_files++;
    return true;
}

/* Tensors of a file that the index does not give to it are left out. */
static bool keep_named(pl_tensors *t, int n, const char *const name[], pl_err *err)
{
    int kept = 0;
    for (int i = 0; i < n; i++) { /* names and tensors are sorted */
        int at = pl_tensors_find(t, name[i]);
        if (at < 0)
            return pl_err_set(err, PL_EINPUT, "%s: no tensor '%s', which the index says is there",
                              t->path, name[i]);
        PL_ASSERT(at >= kept);
        t->tensor[kept] = t->tensor[at];
        t->dtype[kept++] = t->dtype[at];
    }
    t->n = kept;
    return true;
}

static bool open_shards(pl_weights *w, const char *folder, const pl_weights_index *x, pl_arena *a,
                        pl_err *err)
{
    w->file = PL_NEW_N(a, pl_tensors, x->n);
    for (int i = 0, end; i < x->n; i = end) {
        for (end = i + 1; end < x->n && !strcmp(x->file[end], x->file[i]);) end++;
        PL_TRY(open_file(w, pl_file_join(a, folder, x->file[i]), a, err));
        PL_TRY(keep_named(&w->file[w->n_files - 1], end - i, x->name + i, err));
    }
    return true;
}

static bool open_index(pl_weights *w, const char *path, pl_arena *a, pl_err *err)
{
    const char *json, *slash = strrchr(path, '/');
    const char *folder = slash ? pl_arena_span(a, path, (size_t)(slash - path) + 1) : ".";
    size_t n;
    pl_weights_index x;
    PL_TRY(pl_file_read(path, MOST_INDEX, a, &json, &n, err));
    if (!pl_weights_parse(json, n, a, &x, err)) return pl_err_in(err, "%s", path);
    return open_shards(w, folder, &x, a, err);
}

/* The one that stands for a folder. */
static bool find_in_folder(const char *folder, pl_arena *a, const char **path, pl_err *err)
{
    int n, found = 0;
    const char **name;
    PL_TRY(pl_file_list(folder, a, &n, &name, err));
    for (int i = 0; i < n; i++) {
        if (!strcmp(name[i], index_name)) {
            *path = pl_file_join(a, folder, name[i]);
            return true;
        }
        const bool usual = !strcmp(name[i], "model" PL_TENSORS_ENDING);
        if (!usual && !ends_in(name[i], PL_TENSORS_ENDING)) continue;
        if (usual || !found) *path = pl_file_join(a, folder, name[i]);
        found = usual ? -n : found + 1;
    }
    if (found < 0) return true;
    return found == 1 ||
           pl_err_set(err, PL_EINPUT, "%s: no %s and %d files *%s there: name one of them", folder,
                      index_name, found, PL_TENSORS_ENDING);
}

bool pl_weights_open(const char *path, pl_arena *a, pl_weights *out, pl_err *err)
{
    struct stat s;
    pl_weights w = { .path = pl_arena_text(a, path) };
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) PL_TRY(find_in_folder(path, a, &path, err));
    if (ends_in(path, ".json")) {
        if (!open_index(&w, path, a, err)) {
            pl_weights_free(&w);
            return false;
        }
    } else {
        w.file = PL_NEW_N(a, pl_tensors, 1);
        PL_TRY(open_file(&w, path, a, err));
    }
    *out = w;
    return true;
}

void pl_weights_free(pl_weights *w)
{
    for (int i = 0; i < w->n_files; i++) pl_tensors_free(&w->file[i]);
    *w = (pl_weights){ 0 };
}

/* -- matching ---------------------------------------------------------------------------------- */

/* Names that are counted, of which the first few are told. */
typedef struct names {
    pl_text text;
    int n;
} names;

static void add_name(names *s, const char *name)
{
    if (s->n++ < TOLD) pl_text_add(&s->text, "%s'%s'", s->n > 1 ? ", " : "", name);
}

static const char *names_text(names *s, const char *what)
{
    if (!s->n) return "";
    if (s->n > TOLD) pl_text_add(&s->text, " and %d more", s->n - TOLD);
    return pl_arena_fmt(s->text.arena, "; %s: %s", what, pl_text_get(&s->text));
}

static bool find_tensor(const pl_weights *w, const char *name, int *file, int *at)
{
    for (*file = 0; *file < w->n_files; ++*file)
        if ((*at = pl_tensors_find(&w->file[*file], name)) >= 0) return true;
    return false;
}

/* By its own name, or with or without that of the base model. */
static bool find_state(const pl_weights *w, const char *name, pl_arena *a, int *file, int *at)
{
    const char *dot = strchr(name, '.');
    if (find_tensor(w, name, file, at)) return true;
    if (w->n_files && w->file[0].n) {
        const char *first = w->file[0].tensor[0].name;
        const int n = (int)strcspn(first, ".");
        if (find_tensor(w, pl_arena_fmt(a, "%.*s.%s", n, first, name), file, at)) return true;
    }
    return dot && find_tensor(w, dot + 1, file, at);
}

static int by_state(const void *left, const void *right)
{
    const struct pl_weight *a = left, *b = right;
    return strcmp(a->state, b->state);
}

/* A constant of the model, whose elements stand in the graph: no weight. */
static bool is_listed(const pl_value *v)
{
    return !strncmp(v->init, "values", 6);
}

/* The states' tensors, in order of their names. */
static bool find_used(pl_weights *w, const pl_graph *g, names *missing, names *problems,
                      pl_arena *a, pl_err *err)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        int file, at;
        pl_err found = { 0 };
        if (v->role != PL_STATE || is_listed(v)) continue;
        if (!find_state(w, v->name, a, &file, &at))
            add_name(missing, v->name);
        else if (pl_tensors_fit(&w->file[file], at, v->type, &v->shape, false, &found))
            w->used[w->n_used++] = (struct pl_weight){ v->name, &w->file[file].tensor[at] };
        else if (problems->n++ < TOLD)
            pl_text_add(&problems->text, "%s%s", problems->n > 1 ? "; " : "", found.msg);
    }
    qsort(w->used, (size_t)w->n_used, sizeof *w->used, by_state);
    if (problems->n > TOLD) pl_text_add(&problems->text, "; and %d more", problems->n - TOLD);
    if (problems->n)
        return pl_err_set(err, PL_EINPUT, "%s: %s", w->path, pl_text_get(&problems->text));
    return true;
}

static const pl_tensor *find(const void *of, const char *state)
{
    const pl_weights *w = of;
    const struct pl_weight key = { .state = state };
    const struct pl_weight *found =
        bsearch(&key, w->used, (size_t)w->n_used, sizeof *w->used, by_state);
    return found ? found->tensor : NULL;
}

static bool is_used(const pl_weights *w, const pl_tensor *t)
{
    for (int i = 0; i < w->n_used; i++)
        if (w->used[i].tensor == t) return true;
    return false;
}

static void find_unused(const pl_weights *w, names *unused)
{
    for (int i = 0; i < w->n_files; i++)
        for (int k = 0; k < w->file[i].n; k++)
            if (!is_used(w, &w->file[i].tensor[k])) add_name(unused, w->file[i].tensor[k].name);
}

bool pl_weights_match(pl_weights *w, const pl_graph *g, pl_arena *a, const char **note, pl_err *err)
{
    names missing = { .text.arena = a }, unused = { .text.arena = a }, bad = { .text.arena = a };
    w->used = PL_NEW_N(a, struct pl_weight, g->values.n);
    PL_TRY(find_used(w, g, &missing, &bad, a, err));
    find_unused(w, &unused);
    int n = w->n_used + missing.n;
    const char *rest = pl_arena_fmt(a, "%s%s", names_text(&missing, "not found"),
                                    names_text(&unused, "of the file not used"));
    *note = pl_arena_fmt(a, "%s: %d of %d states loaded%s", w->path, w->n_used, n, rest);
    return w->n_used || pl_err_set(err, PL_EINPUT, "%s", *note);
}

pl_source pl_weights_source(const pl_weights *w)
{
    return (pl_source){ find, w };
}
