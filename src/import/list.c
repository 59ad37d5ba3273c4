/* The list that pleat_export.py leaves in a file: JSON of anyone's, so names, shapes and counts are
 * compared with the file before anything is believed. */
#include "import/list.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 8, MOST_NAME = 400 };

static const char *const format = "pleat.tensors/1";

/* -- tensors by name --------------------------------------------------------------------------- */

static int compare_tensors(const void *a, const void *b)
{
    const pl_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_names(const void *a, const void *b)
{
    const pl_listed *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_places(const void *a, const void *b)
{
    const pl_listed *x = a, *y = b;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static const pl_tensor **sort_tensors(const pl_onnx_file *f, pl_arena *a)
{
    const pl_tensor **at = PL_NEW_N(a, const pl_tensor *, f->n + 1);
    for (int i = 0; i < f->n; i++) at[i] = &f->tensor[i];
    qsort(at, (size_t)f->n, sizeof *at, compare_tensors);
    return at;
}

/* -- rows -------------------------------------------------------------------------------------- */

static bool check_name(const char *name, pl_err *err)
{
    const size_t n = strlen(name);
    bool ok = n > 0 && n <= MOST_NAME;
    for (size_t i = 0; i < n; i++) ok &= (unsigned char)name[i] > ' ' && name[i] != 127;
    return ok || pl_err_set(err, PL_EINPUT, "'%.60s' is no name of a tensor", name);
}

static bool has_shape(const pl_json *row, const pl_tensor *t)
{
    const pl_json *shape = pl_json_find(row, "shape");
    if (!pl_json_is(shape, PL_JSON_LIST) || shape->n != t->shape.rank) return false;
    for (int i = 0; i < t->shape.rank; i++)
        if (shape->at[i].whole != t->shape.dim[i]) return false;
    return true;
}

static bool read_row(const pl_json *row, const pl_tensor *const *sorted, int n, pl_arena *a,
                     pl_listed *x, pl_err *err)
{
    PL_TRY(pl_json_get_text(row, "name", &x->name, err));
    pl_tensor key = { .name = x->name };
    const pl_tensor *wanted = &key;
    if (pl_json_find(row, "file")) PL_TRY(pl_json_get_text(row, "file", &key.name, err));
    PL_TRY(check_name(x->name, err) && check_name(key.name, err));
    const pl_tensor *const *found =
        bsearch(&wanted, sorted, (size_t)n, sizeof *sorted, compare_tensors);
    if (!found)
        return pl_err_set(err, PL_EINPUT,
                          "'%s' is not in the file, which was changed after the list was made: "
                          "export it again",
                          key.name);
    x->tensor = *found;
    if (!has_shape(row, x->tensor))
        return pl_err_set(err, PL_EINPUT, "'%s' has another shape in the file: %s", key.name,
                          pl_shape_text(a, x->tensor->type, &x->tensor->shape));
    x->trains = x->parameter && pl_json_is(pl_json_find(row, "trains"), PL_JSON_TRUE);
    return !x->trains || pl_type_is_float(x->tensor->type) ||
           pl_err_set(err, PL_EINPUT, "'%s' trains, and is %s", x->name,
                      pl_type_name(x->tensor->type));
}

static bool read_rows(const pl_json *root, const char *key, const pl_tensor *const *sorted, int n,
                      pl_arena *a, pl_list *l, pl_err *err)
{
    const pl_json *rows = pl_json_find(root, key);
    if (!pl_json_is(rows, PL_JSON_LIST)) return pl_err_set(err, PL_EINPUT, "%s: not an array", key);
    for (int i = 0; i < rows->n; i++) {
        pl_listed *x = &l->at[l->n++];
        *x = (pl_listed){ .parameter = !strcmp(key, "parameters") };
        if (!read_row(&rows->at[i], sorted, n, a, x, err)) return pl_err_in(err, "%s %d", key, i);
    }
    return true;
}

/* No name and no tensor twice. */
static bool check_rows(pl_list *l, pl_arena *a, pl_err *err)
{
    const pl_listed **by_name = PL_NEW_N(a, const pl_listed *, l->n + 1);
    qsort(l->at, (size_t)l->n, sizeof *l->at, compare_places);
    for (int i = 0; i < l->n; i++) by_name[i] = &l->at[i];
    qsort(by_name, (size_t)l->n, sizeof *by_name, compare_names);
    for (int i = 1; i < l->n; i++) {
        if (!strcmp(by_name[i]->name, by_name[i - 1]->name))
            return pl_err_set(err, PL_EINPUT, "the name '%s' is given twice", by_name[i]->name);
        if (l->at[i].tensor == l->at[i - 1].tensor)
            return pl_err_set(err, PL_EINPUT, "the tensor '%s' is given twice",
                              l->at[i].tensor->name);
    }
    return true;
}

/* -- the list ---------------------------------------------------------------------------------- */

static bool read_list(const pl_json *root, const pl_onnx_file *f, pl_arena *a, pl_list *l,
                      pl_err *err)
{
    const char *is;
    PL_TRY(pl_json_get_text(root, "format", &is, err));
    if (strcmp(is, format) != 0)
        return pl_err_set(err, PL_EUNSUPPORTED, "format '%.40s': '%s' is known", is, format);
    l->exporter = "";
    if (pl_json_find(root, "exporter"))
        PL_TRY(pl_json_get_text(root, "exporter", &l->exporter, err));
    const int n = pl_json_items(pl_json_find(root, "parameters")) +
                  pl_json_items(pl_json_find(root, "buffers"));
    if (n > f->n) return pl_err_set(err, PL_EINPUT, "%d tensors, the file has %d", n, f->n);
    const pl_tensor **sorted = sort_tensors(f, a);
    l->at = PL_NEW_N(a, pl_listed, n + 1);
    return read_rows(root, "parameters", sorted, f->n, a, l, err) &&
           read_rows(root, "buffers", sorted, f->n, a, l, err) && check_rows(l, a, err);
}

bool pl_list_read(const pl_onnx_file *f, pl_arena *a, pl_list **out, pl_err *err)
{
    const char *text = NULL;
    const pl_json *root;
    *out = NULL;
    for (size_t i = 0; i < f->model->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *p = f->model->metadata_props[i];
        if (p->key && p->value && !strcmp(p->key, "pleat.tensors")) text = p->value;
    }
    if (!text) return true;
    *out = PL_NEW(a, pl_list);
    return (pl_json_parse(text, strlen(text), MOST_DEPTH, a, &root, err) &&
            read_list(root, f, a, *out, err)) ||
           pl_err_in(err, "pleat.tensors");
}

const pl_listed *pl_list_find(const pl_list *l, const pl_tensor *t)
{
    const pl_listed key = { .tensor = t };
    return bsearch(&key, l->at, (size_t)l->n, sizeof *l->at, compare_places);
}
