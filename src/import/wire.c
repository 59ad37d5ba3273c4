#include "import/wire.h"

#include <string.h>

/* Fields on the way to a payload, as in onnx.proto. */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_FLOATS = 4, TENSOR_RAW = 9 };
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

typedef struct field {
    int number, wire;
    size_t from;        /* of its tag                 */
    size_t length_at;   /* LENGTH: of that number     */
    size_t data, bytes; /* LENGTH: of what it holds   */
    size_t end;         /* of all of it               */
} field;

typedef struct reader {
    const uint8_t *file;
    pl_wire *out;
    pl_arena *a;
    int64_t most;
    int initializer;
    size_t copied; /* bytes of the file that are in the output or left out */
    pl_err *err;
} reader;

static bool read_varint(const reader *r, size_t *at, size_t end, uint64_t *x)
{
    *x = 0;
    for (int i = 0; i < 10; i++) {
        if (*at >= end)
            return pl_err_set(r->err, PL_EINPUT,
                              "byte %zu: the number ends with the file or message", *at);
        uint8_t b = r->file[(*at)++];
        *x |= (uint64_t)(b & 0x7f) << 7 * i;
        if (!(b & 0x80)) return true;
    }
    return pl_err_set(r->err, PL_EINPUT, "byte %zu: a number of more than 10 bytes", *at);
}

static bool read_field(const reader *r, size_t at, size_t end, field *f)
{
    uint64_t tag, n = 0;
    *f = (field){ .from = at };
    PL_TRY(read_varint(r, &at, end, &tag));
    f->wire = (int)(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > INT32_MAX)
        return pl_err_set(r->err, PL_EINPUT, "byte %zu: no field has the number %llu", f->from,
                          (unsigned long long)(tag >> 3));
    f->number = (int)(tag >> 3);
    f->length_at = at;
    if (f->wire == VARINT || f->wire == LENGTH) PL_TRY(read_varint(r, &at, end, &n));
    if (f->wire == VARINT) n = 0;
    if (f->wire == FIXED64) n = 8;
    if (f->wire == FIXED32) n = 4;
    if (f->wire == 3 || f->wire == 4 || f->wire > FIXED32)
        return pl_err_set(r->err, PL_EINPUT,
                          "byte %zu: field %d has wire type %d, which is unknown", f->from,
                          f->number, f->wire);
    if (n > end - at)
        return pl_err_set(r->err, PL_EINPUT,
                          "byte %zu: field %d has %llu bytes, %zu are left: the file is cut short",
                          f->from, f->number, (unsigned long long)n, end - at);
    f->data = at;
    f->bytes = (size_t)n;
    f->end = at + (size_t)n;
    return true;
}

/* Copy what lies before `until`, and go on at `from`. */
static void copy_until(reader *r, size_t until, size_t from)
{
    if (r->out->data) memcpy(r->out->data + r->out->bytes, r->file + r->copied, until - r->copied);
    r->out->bytes += until - r->copied;
    r->copied = from;
}

/* The length of message f, less what was left out of it, in as many bytes as before. */
static void shorten(reader *r, const field *f, size_t written_at, size_t left_out)
{
    uint64_t n = f->bytes - left_out;
    size_t size = r->out->data ? f->data - f->length_at : 0;
    for (size_t i = 0; i < size; i++, n >>= 7)
        r->out->data[written_at + i] = (uint8_t)((n & 0x7f) | (i + 1 < size ? 0x80 : 0));
}

/* Where in the output byte `at` of the file comes to stand. */
static size_t written(const reader *r, size_t at)
{
    return r->out->bytes + (at - r->copied);
}

static bool reduce_tensor(reader *r, const field *tensor, size_t *left_out)
{
    field f;
    for (size_t at = tensor->data; at < tensor->end; at = f.end) {
        PL_TRY(read_field(r, at, tensor->end, &f));
        bool payload = f.number == TENSOR_RAW || f.number == TENSOR_FLOATS;
        if (!payload || f.wire != LENGTH || (int64_t)f.bytes <= r->most) continue;
        const pl_wire_blob b = { r->initializer, f.number, (int64_t)f.data, (int64_t)f.bytes };
        if (r->out->data) PL_PUSH(r->a, r->out, b);
        copy_until(r, f.from, f.end);
        *left_out += f.end - f.from;
    }
    return true;
}

static bool reduce_graph(reader *r, const field *graph, size_t *left_out)
{
    field f;
    for (size_t at = graph->data; at < graph->end; at = f.end) {
        PL_TRY(read_field(r, at, graph->end, &f));
        if (f.number != GRAPH_INITIALIZER || f.wire != LENGTH) continue;
        const size_t length_at = written(r, f.length_at);
        size_t less = 0;
        PL_TRY(reduce_tensor(r, &f, &less));
        if (less) shorten(r, &f, length_at, less);
        *left_out += less;
        r->initializer++;
    }
    return true;
}

static bool reduce_model(reader *r, size_t bytes)
{
    field f;
    int graphs = 0;
    for (size_t at = 0; at < bytes; at = f.end) {
        PL_TRY(read_field(r, at, bytes, &f));
        if (f.number != MODEL_GRAPH || f.wire != LENGTH) continue;
        if (++graphs > 1) return pl_err_set(r->err, PL_EINPUT, "byte %zu: a second graph", f.from);
        const size_t length_at = written(r, f.length_at);
        size_t less = 0;
        PL_TRY(reduce_graph(r, &f, &less));
        if (less) shorten(r, &f, length_at, less);
    }
    copy_until(r, bytes, bytes);
    return true;
}

bool pl_wire_reduce(const uint8_t *file, size_t bytes, int64_t most, pl_arena *a, pl_wire *out,
                    pl_err *err)
{
    reader r = { .file = file, .out = out, .a = a, .most = most, .err = err };
    *out = (pl_wire){ 0 };
    PL_TRY(reduce_model(&r, bytes)); /* counts */
    uint8_t *data = pl_arena_get(a, out->bytes + 1, 1);
    *out = (pl_wire){ .data = data };
    r.copied = 0;
    r.initializer = 0;
    return reduce_model(&r, bytes);
}
