/* Files of tensors: opened and sorted by name (pl_tensors_open), and checked against what a
 * state or an input needs (pl_tensors_fit). */
#include "data/tensors.h"

#include "base/file.h"
#include "run/safetensors.h"
#include "data/fill.h"

#include <stdlib.h>
#include <string.h>

/* What the format calls the types that ONNX has too, by TensorProto.DataType. */
static const struct {
    const char *dtype;
    int onnx;
} dtypes[] = {
    { "F32", 1 }, { "U8", 2 },   { "I8", 3 },   { "U16", 4 },  { "I16", 5 },  { "I32", 6 },
    { "I64", 7 }, { "BOOL", 9 }, { "F16", 10 }, { "F64", 11 }, { "U32", 12 }, { "BF16", 16 },
};

static const pl_stored *find_stored(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].dtype, dtype)) return pl_stored_find(dtypes[i].onnx);
    return NULL;
}

static int by_name(const void *left, const void *right)
{
    const pl_safetensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static pl_tensor tensor_of(const pl_safetensor *tensor)
{
    const pl_stored *stored = find_stored(tensor->dtype);
    return (pl_tensor){ .name = tensor->name,
                        .stored = stored,
                        .type = stored ? stored->type : PL_N_TYPES,
                        .shape = tensor->shape,
                        .data = tensor->data,
                        .bytes = tensor->bytes };
}

bool pl_tensors_open(const char *path, pl_arena *arena, pl_tensors *out, pl_err *err)
{
    pl_tensors t = { .path = pl_arena_text(arena, path) };
    pl_safetensor *found = NULL;
    PL_TRY(pl_file_map(path, &t.map, &t.map_bytes, err));
    if (!pl_safetensors_scan(t.map, t.map_bytes, arena, &t.n, &found, err)) {
        pl_tensors_free(&t);
        return pl_err_in(err, "%s", path);
    }
    qsort(found, (size_t)t.n, sizeof *found, by_name);
    t.tensor = PL_NEW_N(arena, pl_tensor, t.n);
    t.dtype = PL_NEW_N(arena, const char *, t.n);
    for (int i = 0; i < t.n; i++) {
        t.tensor[i] = tensor_of(&found[i]);
        t.dtype[i] = found[i].dtype;
    }
    *out = t;
    return true;
}

void pl_tensors_free(pl_tensors *tensors)
{
    pl_file_unmap(tensors->map, tensors->map_bytes);
    *tensors = (pl_tensors){ 0 };
}

int pl_tensors_find(const pl_tensors *tensors, const char *name)
{
    int lo = 0, hi = tensors->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2, order = strcmp(tensors->tensor[mid].name, name);
        if (!order) return mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

/* -- does it fit? ------------------------------------------------------------------------------ */

static const char *text_of(const char *type, const pl_shape *shape, bool rows, pl_arena *arena)
{
    pl_text t = { .arena = arena };
    pl_text_add(&t, "%s[", type);
    for (int i = 0; i < shape->rank; i++)
        if (rows && !i)
            pl_text_add(&t, "rows");
        else
            pl_text_add(&t, "%s%lld", i ? "," : "", (long long)shape->dim[i]);
    pl_text_add(&t, "]");
    return pl_text_get(&t);
}

static bool is_transposed(const pl_shape *a, const pl_shape *b)
{
    return a->rank == 2 && b->rank == 2 && a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
}

static bool is_shape(const pl_shape *found, const pl_shape *wanted, bool rows)
{
    pl_shape like = *wanted;
    if (rows && found->rank && like.rank) like.dim[0] = found->dim[0];
    return pl_shape_same(found, &like);
}

static bool check_shape(const pl_tensors *tensors, int i, pl_type type, const pl_shape *shape,
                        bool rows, pl_arena *tmp, pl_err *err)
{
    const pl_shape *found = &tensors->tensor[i].shape;
    if (is_shape(found, shape, rows)) return true;
    return pl_err_set(err, PL_EINPUT, "'%s' is %s here, %s in the file%s", tensors->tensor[i].name,
                      text_of(pl_type_name(type), shape, rows, tmp),
                      text_of(tensors->dtype[i], found, false, tmp),
                      !rows && is_transposed(found, shape) ? ": transpose it" : "");
}

bool pl_tensors_fit(const pl_tensors *tensors, int i, pl_type type, const pl_shape *shape,
                    bool rows, pl_err *err)
{
    const pl_tensor *x = &tensors->tensor[i];
    pl_arena *tmp = pl_arena_new("tensor shapes");
    bool ok = check_shape(tensors, i, type, shape, rows, tmp, err);
    pl_arena_free(tmp);
    if (!ok) return false;
    if (!x->stored)
        return pl_err_set(err, PL_EINPUT, "'%s' is %s, and %s is needed: convert it", x->name,
                          tensors->dtype[i], pl_type_name(type));
    return pl_fill_is_exact(x, type, err);
}
