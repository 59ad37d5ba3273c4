#include "import/file.h"

#include "base/file.h"
#include "import/wire.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { KEPT = 4096 }; /* bytes of a payload that are kept in memory */

/* -- memory of the parser ---------------------------------------------------------------------- */

static void *get(void *arena, size_t n)
{
    return pl_arena_get(arena, n, 1);
}

static void forget(void *arena, void *at)
{
    (void)arena, (void)at;
}

static ProtobufCAllocator in_arena(pl_arena *a)
{
    return (ProtobufCAllocator){ get, forget, a };
}

static Onnx__ModelProto *unpack(const uint8_t *bytes, size_t n, pl_arena *a)
{
    ProtobufCAllocator memory = in_arena(a);
    return onnx__model_proto__unpack(&memory, n, bytes);
}

Onnx__GraphProto *pl_onnx_body(const uint8_t *bytes, size_t n, pl_arena *a)
{
    ProtobufCAllocator memory = in_arena(a);
    return onnx__graph_proto__unpack(&memory, n, bytes);
}

/* -- external data ----------------------------------------------------------------------------- */

static bool read_number(const char *text, const char *tensor, const char *key, int64_t *out,
                        pl_err *err)
{
    if (pl_text_int(text, out) && *out >= 0) return true;
    return pl_err_set(err, PL_EINPUT,
                      "tensor '%s': external_data has %s '%s': not a whole number "
                      "of bytes",
                      tensor, key, text);
}

/* What is there is checked; what is not may come later. */
static bool check_extent(const pl_tensor *t, pl_err *err)
{
    struct stat s;
    if (stat(t->path, &s) != 0) return true;
    if (!S_ISREG(s.st_mode))
        return pl_err_set(err, PL_EINPUT, "tensor '%s': %s is not a regular file", t->name,
                          t->path);
    if (t->at > s.st_size || t->bytes > s.st_size - t->at)
        return pl_err_set(
            err, PL_EINPUT, "tensor '%s': %s has %lld bytes, the tensor lies at %lld and has %lld",
            t->name, t->path, (long long)s.st_size, (long long)t->at, (long long)t->bytes);
    return true;
}

static bool read_external(const Onnx__TensorProto *m, const char *path, pl_arena *a, pl_tensor *t,
                          pl_err *err)
{
    const char *location = NULL;
    int64_t length = t->bytes;
    for (size_t i = 0; i < m->n_external_data; i++) {
        const char *key = m->external_data[i]->key, *value = m->external_data[i]->value;
        if (!key || !value) continue;
        if (!strcmp(key, "location")) location = value;
        if (!strcmp(key, "offset")) PL_TRY(read_number(value, t->name, key, &t->at, err));
        if (!strcmp(key, "length")) PL_TRY(read_number(value, t->name, key, &length, err));
    }
    if (!location || !pl_file_is_below(location))
        return pl_err_set(err, PL_EINPUT,
                          "tensor '%s': external_data has location '%.100s': it has to be a path "
                          "below the model's folder, without '..'",
                          t->name, location ? location : "");
    if (length != t->bytes)
        return pl_err_set(err, PL_EINPUT,
                          "tensor '%s': external_data has length %lld, dims say %lld bytes",
                          t->name, (long long)length, (long long)t->bytes);
    t->path = pl_file_join(a, pl_file_folder(a, path), location);
    t->data = NULL;
    return check_extent(t, err);
}

/* -- initializers ------------------------------------------------------------------------------ */

/* They are sorted by initializer. */
static const pl_wire_blob *find_blob(const pl_wire *w, int initializer)
{
    int from = 0, to = w->n;
    while (from < to) {
        const int mid = from + (to - from) / 2;
        if (w->at[mid].initializer < initializer)
            from = mid + 1;
        else
            to = mid;
    }
    return from < w->n && w->at[from].initializer == initializer ? &w->at[from] : NULL;
}

static bool read_initializer(pl_onnx_file *f, const pl_wire *w, int i, pl_arena *a, pl_err *err)
{
    const Onnx__TensorProto *m = f->graph->initializer[i];
    pl_tensor *t = &f->tensor[i];
    if (!m->name || !*m->name) return pl_err_set(err, PL_EINPUT, "initializer %d has no name", i);
    PL_TRY(pl_tensor_read(m, m->name, a, t, err));
    if (m->data_location == 1) return read_external(m, f->path, a, t, err);
    if (m->data_location)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': data_location %d is unknown", t->name,
                          m->data_location);
    if (t->data) return true;
    const pl_wire_blob *b = find_blob(w, i);
    if (!b)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': no data, dims say %lld bytes", t->name,
                          (long long)t->bytes);
    if (b->bytes != t->bytes)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': %s has %lld bytes, dims say %lld", t->name,
                          b->field == 9 ? "raw_data" : "float_data", (long long)b->bytes,
                          (long long)t->bytes);
    t->path = f->path;
    t->at = b->at;
    return true;
}

static bool read_initializers(pl_onnx_file *f, const pl_wire *w, pl_arena *a, pl_err *err)
{
    f->n = (int)f->graph->n_initializer;
    f->tensor = PL_NEW_N(a, pl_tensor, f->n + 1);
    for (int i = 0; i < f->n; i++) PL_TRY(read_initializer(f, w, i, a, err));
    return true;
}

/* -- the model --------------------------------------------------------------------------------- */

static bool check_versions(pl_onnx_file *f, pl_err *err)
{
    const Onnx__ModelProto *m = f->model;
    if (m->ir_version < PL_ONNX_FIRST_IR || m->ir_version > PL_ONNX_LAST_IR)
        return pl_err_set(err, PL_EUNSUPPORTED, "ir_version %" PRId64 ": %d to %d are known",
                          m->ir_version, PL_ONNX_FIRST_IR, PL_ONNX_LAST_IR);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = m->opset_import[i]->domain;
        if (!domain || !*domain || !strcmp(domain, "ai.onnx"))
            f->opset = m->opset_import[i]->version;
    }
    if (f->opset < PL_ONNX_FIRST_OPSET || f->opset > PL_ONNX_LAST_OPSET)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "opset %" PRId64 " of ai.onnx: %d to %d are known; export with "
                          "opset_version=17",
                          f->opset, PL_ONNX_FIRST_OPSET, PL_ONNX_LAST_OPSET);
    return true;
}

static bool check_model(pl_onnx_file *f, pl_err *err)
{
    if (!f->model)
        return pl_err_set(err, PL_EINPUT, "not an ONNX model: its messages do not parse");
    if (!f->model->has_ir_version && !f->model->graph)
        return pl_err_set(err, PL_EINPUT, "not an ONNX model: no ir_version and no graph");
    PL_TRY(check_versions(f, err));
    f->graph = f->model->graph;
    if (!f->graph) return pl_err_set(err, PL_EINPUT, "the model has no graph");
    if (f->graph->n_node > INT_MAX / 16 || f->graph->n_initializer > INT_MAX / 16)
        return pl_err_set(err, PL_EUNSUPPORTED, "%zu nodes, %zu initializers", f->graph->n_node,
                          f->graph->n_initializer);
    if (f->graph->n_sparse_initializer)
        return pl_err_set(err, PL_EUNSUPPORTED, "%zu sparse initializers: dense ones are supported",
                          f->graph->n_sparse_initializer);
    return true;
}

static bool parse(const uint8_t *bytes, size_t n, int64_t kept, const char *path, pl_arena *a,
                  pl_onnx_file *out, pl_err *err)
{
    pl_wire w;
    *out = (pl_onnx_file){ .path = pl_arena_text(a, path) };
    PL_TRY(pl_wire_reduce(bytes, n, kept, a, &w, err));
    out->model = unpack(w.data, w.bytes, a);
    return check_model(out, err) && read_initializers(out, &w, a, err);
}

bool pl_onnx_file_parse(const void *bytes, size_t n, const char *path, pl_arena *a,
                        pl_onnx_file *out, pl_err *err)
{
    return parse(bytes, n, INT64_MAX, path, a, out, err) || pl_err_in(err, "%s", path);
}

bool pl_onnx_file_open(const char *path, pl_arena *a, pl_onnx_file *out, pl_err *err)
{
    void *map;
    size_t n;
    PL_TRY(pl_file_map(path, &map, &n, err));
    bool ok = parse(map, n, KEPT, path, a, out, err) || pl_err_in(err, "%s", path);
    pl_file_unmap(map, n);
    return ok;
}
