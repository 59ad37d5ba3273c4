/* Weights out of files. First opening: a file, an index or a folder (pl_weights_open). Then
 * matching: pl_weights_match() finds each state by name or row by row (find_state), and says
 * what is missing or left over. */
#include "data/weights.h"

#include "base/file.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

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

static bool read_map(const pl_json *root, pl_arena *arena, pl_weights_index *out, pl_err *err)
{
    const pl_json *map = pl_json_find(root, "weight_map");
    if (!pl_json_is(map, PL_JSON_OBJECT) || !map->n)
        return pl_err_set(err, PL_EINPUT, "'weight_map' is missing, empty or no object");
    const int n = map->n;
    row *rows = PL_NEW_N(arena, row, n);
    for (int i = 0; i < n; i++) {
        const char *name = map->at[i].key, *file = map->at[i].text;
        if (!file || !pl_file_is_below(file))
            return pl_err_set(err, PL_EINPUT,
                              "'weight_map': '%.100s' is in '%.100s': it has to be a path below "
                              "the folder, without '..'",
                              name, file ? file : "");
        rows[i] = (row){ name, file };
    }
    qsort(rows, (size_t)n, sizeof *rows, by_file);
    *out =
        (pl_weights_index){ n, PL_NEW_N(arena, const char *, n), PL_NEW_N(arena, const char *, n) };
    for (int i = 0; i < n; i++) out->name[i] = rows[i].name, out->file[i] = rows[i].file;
    return true;
}

bool pl_weights_parse(const char *json, size_t n, pl_arena *arena, pl_weights_index *out,
                      pl_err *err)
{
    const pl_json *root;
    return pl_json_parse(json, n, DEPTH, arena, &root, err) && read_map(root, arena, out, err);
}

/* -- opening ----------------------------------------------------------------------------------- */

static bool open_file(pl_weights *w, const char *path, pl_arena *a, pl_err *err)
{
    PL_TRY(pl_tensors_open(path, a, &w->file[w->n_files], err));
    w->n_files++;
    return true;
}

/* Tensors of a file that the index does not give to it are left out. */
static bool keep_named(pl_tensors *tensors, int n, const char *const name[], pl_err *err)
{
    int kept = 0;
    for (int i = 0; i < n; i++) { /* names and tensors are sorted */
        int at = pl_tensors_find(tensors, name[i]);
        if (at < 0)
            return pl_err_set(err, PL_EINPUT, "%s: no tensor '%s', which the index says is there",
                              tensors->path, name[i]);
        PL_ASSERT(at >= kept);
        tensors->tensor[kept] = tensors->tensor[at];
        tensors->dtype[kept++] = tensors->dtype[at];
    }
    tensors->n = kept;
    return true;
}

static bool open_shards(pl_weights *weights, const char *folder, const pl_weights_index *x,
                        pl_arena *arena, pl_err *err)
{
    weights->file = PL_NEW_N(arena, pl_tensors, x->n);
    for (int i = 0, end; i < x->n; i = end) {
        for (end = i + 1; end < x->n && !strcmp(x->file[end], x->file[i]);) end++;
        PL_TRY(open_file(weights, pl_file_join(arena, folder, x->file[i]), arena, err));
        PL_TRY(keep_named(&weights->file[weights->n_files - 1], end - i, x->name + i, err));
    }
    return true;
}

static bool open_index(pl_weights *weights, const char *path, pl_arena *arena, pl_err *err)
{
    const char *json;
    size_t n;
    pl_weights_index x;
    PL_TRY(pl_file_read(path, MOST_INDEX, arena, &json, &n, err));
    if (!pl_weights_parse(json, n, arena, &x, err)) return pl_err_in(err, "%s", path);
    return open_shards(weights, pl_file_folder(arena, path), &x, arena, err);
}

/* The one that stands for a folder. */
static bool find_in_folder(const char *folder, pl_arena *arena, const char **path, pl_err *err)
{
    int n, found = 0;
    const char **name;
    PL_TRY(pl_file_list(folder, arena, &n, &name, err));
    for (int i = 0; i < n; i++) {
        if (!strcmp(name[i], index_name)) {
            *path = pl_file_join(arena, folder, name[i]);
            return true;
        }
        const bool usual = !strcmp(name[i], "model" PL_TENSORS_ENDING);
        if (!usual && !ends_in(name[i], PL_TENSORS_ENDING)) continue;
        if (usual || !found) *path = pl_file_join(arena, folder, name[i]);
        found = usual ? -n : found + 1;
    }
    if (found < 0) return true;
    return found == 1 ||
           pl_err_set(err, PL_EINPUT, "%s: no %s and %d files *%s there: name one of them", folder,
                      index_name, found, PL_TENSORS_ENDING);
}

bool pl_weights_open(const char *path, pl_arena *arena, pl_weights *out, pl_err *err)
{
    pl_weights weights = { .path = pl_arena_text(arena, path) };
    if (pl_file_is_folder(path)) PL_TRY(find_in_folder(path, arena, &path, err));
    if (ends_in(path, ".json")) {
        if (!open_index(&weights, path, arena, err)) {
            pl_weights_free(&weights);
            return false;
        }
    } else {
        weights.file = PL_NEW_N(arena, pl_tensors, 1);
        PL_TRY(open_file(&weights, path, arena, err));
    }
    *out = weights;
    return true;
}

void pl_weights_free(pl_weights *weights)
{
    for (int i = 0; i < weights->n_files; i++) pl_tensors_free(&weights->file[i]);
    *weights = (pl_weights){ 0 };
}

/* -- the tensors of all files by name ---------------------------------------------------------- */

struct pl_weights_entry {
    const char *name;
    const pl_tensors *file;
    int at;
    bool used;
};

typedef struct pl_weights_entry entry;

static int by_name(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void list_entries(pl_weights *weights, pl_arena *arena)
{
    int n = 0;
    for (int i = 0; i < weights->n_files; i++) n += weights->file[i].n;
    weights->entry = PL_NEW_N(arena, entry, n + 1);
    weights->n_entries = weights->n_used = 0;
    for (int i = 0; i < weights->n_files; i++)
        for (int k = 0; k < weights->file[i].n; k++)
            weights->entry[weights->n_entries++] =
                (entry){ weights->file[i].tensor[k].name, &weights->file[i], k, false };
    qsort(weights->entry, (size_t)n, sizeof *weights->entry, by_name);
}

static entry *find_entry(const pl_weights *w, const char *name)
{
    const entry key = { .name = name };
    return bsearch(&key, w->entry, (size_t)w->n_entries, sizeof key, by_name);
}

/* By its own name, or with or without that of the base model. */
static entry *find_named(const pl_weights *weights, const char *name, pl_arena *arena)
{
    const char *dot = strchr(name, '.');
    entry *e = find_entry(weights, name);
    if (e || !weights->n_entries) return e;
    const char *first =
        weights->entry[weights->n_entries / 2].name; /* begins with the word that most have */
    e = find_entry(weights, pl_arena_fmt(arena, "%.*s.%s", (int)strcspn(first, "."), first, name));
    return e || !dot ? e : find_entry(weights, dot + 1);
}

static const pl_tensor *tensor_of(const entry *e)
{
    return &e->file->tensor[e->at];
}

/* -- matching ---------------------------------------------------------------------------------- */

typedef struct matching {
    pl_weights *w;
    pl_arena *arena;
    pl_text missing, problems;
    int n_missing, n_problems, n_needed; /* of the missing, those that are no luxury */
} matching;

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

/* What the user may have meant: the most similar name that is left, of the same shape. */
static const char *find_near(const pl_weights *weights, const char *name, const pl_shape *shape)
{
    pl_near near = { .word = name, .within = (int)strlen(name) / 2 - 1 };
    for (int i = 0; i < weights->n_entries; i++) {
        const entry *e = &weights->entry[i];
        if (!e->used && pl_shape_same(&tensor_of(e)->shape, shape)) pl_near_offer(&near, e->name);
    }
    return near.name;
}

/* The shape of what a file has of a state: of a row, or of all of it. */
static pl_shape row_of(const pl_value *value)
{
    pl_shape s = value->shape;
    for (int i = 1; value->parts && i < s.rank; i++) s.dim[i - 1] = s.dim[i];
    s.rank -= value->parts != NULL;
    return s;
}

/* Told when the others have taken what is theirs; of rows the first speaks for all. */
static void add_missing(matching *m, const pl_value *value)
{
    const pl_shape shape = row_of(value);
    const char *name = value->parts ? pl_graph_part(m->arena, value, 0) : value->name;
    if (value->kind == PL_WEIGHT || strcmp(value->init, "file")) m->n_needed++;
    if (m->n_missing++ >= TOLD) return;
    const char *near = find_near(m->w, name, &shape);
    pl_text_add(&m->missing, "%s'%s'", m->n_missing > 1 ? ", " : "", name);
    if (near) pl_text_add(&m->missing, " (the file has '%s')", near);
}

static void add_problem(matching *m, const char *text)
{
    if (m->n_problems++ < TOLD)
        pl_text_add(&m->problems, "%s%s", m->n_problems > 1 ? "; " : "", text);
}

/* The n tensors of a state, if all of them are there; each has to fit. */
static bool take(matching *m, const pl_value *value, int n, entry *const found[],
                 const pl_shape *shape)
{
    pl_tensor *t = PL_NEW_N(m->arena, pl_tensor, n);
    for (int i = 0; i < n; i++) {
        pl_err err = { 0 };
        found[i]->used = true;
        t[i] = *tensor_of(found[i]);
        if (!pl_tensors_fit(found[i]->file, found[i]->at, value->type, shape, false, &err))
            add_problem(m, err.msg);
    }
    m->w->used[m->w->n_used++] = (struct pl_weight){ value->name, { n, t } };
    return true;
}

/* A state as the whole that pleat has, or row by row; some of its rows are no state. */
static bool find_state(matching *m, const pl_value *value)
{
    entry *whole = find_named(m->w, value->name, m->arena);
    if (whole) return take(m, value, 1, &whole, &value->shape);
    if (!value->parts) return false;
    const int64_t n = value->shape.dim[0];
    const pl_shape shape = row_of(value);
    entry **found = PL_NEW_N(m->arena, entry *, n);
    int64_t n_found = 0, lost = -1;
    for (int64_t i = 0; i < n; i++) {
        found[i] = find_named(m->w, pl_graph_part(m->arena, value, i), m->arena);
        if (found[i])
            n_found++;
        else if (lost < 0)
            lost = i;
    }
    if (n_found == n) return take(m, value, (int)n, found, &shape);
    if (n_found)
        add_problem(m, pl_arena_fmt(m->arena, "no '%s', and %lld of %lld such are there",
                                    pl_graph_part(m->arena, value, lost), (long long)n_found,
                                    (long long)n));
    return false;
}

/* The states' tensors, in order of their names. */
static void find_used(matching *m, const pl_graph *graph)
{
    const pl_value **missing = PL_NEW_N(m->arena, const pl_value *, graph->values.n);
    int n = 0;
    for (int i = 0; i < graph->values.n; i++) {
        const pl_value *v = graph->values.at[i];
        if (v->role != PL_STATE || is_listed(v)) continue;
        if (!find_state(m, v)) missing[n++] = v;
    }
    for (int i = 0; i < n; i++) add_missing(m, missing[i]);
    qsort(m->w->used, (size_t)m->w->n_used, sizeof *m->w->used, by_state);
}

static pl_stack find(const void *of, const char *state)
{
    const pl_weights *weights = of;
    const struct pl_weight key = { .state = state };
    const struct pl_weight *found =
        bsearch(&key, weights->used, (size_t)weights->n_used, sizeof *weights->used, by_state);
    return found ? found->stack : (pl_stack){ 0 };
}

static const char *list_unused(const pl_weights *weights, pl_arena *arena)
{
    pl_text t = { .arena = arena };
    int n = 0;
    for (int i = 0; i < weights->n_entries; i++)
        if (!weights->entry[i].used && n++ < TOLD)
            pl_text_add(&t, "%s'%s'",
                        n > 1 ? ", " : "; of the file not used: ", weights->entry[i].name);
    if (n > TOLD) pl_text_add(&t, " and %d more", n - TOLD);
    return pl_text_get(&t);
}

bool pl_weights_match(pl_weights *weights, const pl_graph *graph, bool partial, pl_arena *arena,
                      const char **note, pl_err *err)
{
    matching m = { weights, arena, .missing.arena = arena, .problems.arena = arena };
    list_entries(weights, arena);
    weights->used = PL_NEW_N(arena, struct pl_weight, graph->values.n);
    find_used(&m, graph);
    if (m.n_problems > TOLD) pl_text_add(&m.problems, "; and %d more", m.n_problems - TOLD);
    if (m.n_problems)
        return pl_err_set(err, PL_EINPUT, "%s: %s", weights->path, pl_text_get(&m.problems));
    if (m.n_missing > TOLD) pl_text_add(&m.missing, " and %d more", m.n_missing - TOLD);
    const bool ok = weights->n_used && (partial || !m.n_needed);
    const char *missing = "";
    if (m.n_missing)
        missing =
            pl_arena_fmt(arena, "; %s: %s", ok ? "start from their initial values" : "not found",
                         pl_text_get(&m.missing));
    *note = pl_arena_fmt(arena, "%s: %d of %d states loaded%s%s", weights->path, weights->n_used,
                         weights->n_used + m.n_missing, missing, list_unused(weights, arena));
    if (ok) return true;
    return pl_err_set(err, PL_EINPUT, "%s%s", *note,
                      weights->n_used ? "; --weights-partial starts these from their initial values"
                                      : "");
}

pl_source pl_weights_source(const pl_weights *weights)
{
    return (pl_source){ find, weights };
}
