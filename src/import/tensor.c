#include "import/tensor.h"

#include "base/file.h"

#include <string.h>

/* TensorProto.DataType. */
static const pl_stored stored[] = {
    { "float", 1, 4, PL_F32, true },    { "uint8", 2, 1, PL_U8, true },
    { "int8", 3, 1, PL_I32, true },     { "uint16", 4, 2, PL_I32, true },
    { "int16", 5, 2, PL_I32, true },    { "int32", 6, 4, PL_I32, true },
    { "int64", 7, 8, PL_I64, true },    { "bool", 9, 1, PL_U8, true },
    { "float16", 10, 2, PL_F32, true }, { "double", 11, 8, PL_F32, false },
    { "uint32", 12, 4, PL_I64, true },  { "bfloat16", 16, 2, PL_BF16, true },
};
enum { N_STORED = sizeof stored / sizeof *stored };

static const char *const names[] = {
    "undefined", "float",  "uint8",     "int8",       "uint16",   "int16",
    "int32",     "int64",  "string",    "bool",       "float16",  "double",
    "uint32",    "uint64", "complex64", "complex128", "bfloat16",
};

const pl_stored *pl_stored_find(int onnx)
{
    for (int i = 0; i < N_STORED; i++)
        if (stored[i].onnx == onnx) return &stored[i];
    return NULL;
}

const char *pl_stored_name(int onnx)
{
    return onnx >= 0 && onnx < (int)(sizeof names / sizeof *names) ? names[onnx] : "a newer type";
}

/* -- reading a message ------------------------------------------------------------------------- */

static bool read_shape(const Onnx__TensorProto *t, const char *name, pl_shape *out, pl_err *err)
{
    int64_t count = 1;
    if (t->n_dims > PL_MAX_RANK)
        return pl_err_set(err, PL_EUNSUPPORTED, "tensor '%s': %zu dims, the most is %d", name,
                          t->n_dims, PL_MAX_RANK);
    *out = (pl_shape){ (int)t->n_dims, { 0 } };
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = t->dims[i];
        if (t->dims[i] < 0 || t->dims[i] > PL_MOST_SIZE)
            return pl_err_set(err, PL_EINPUT, "tensor '%s': dims[%d] is %lld", name, i,
                              (long long)t->dims[i]);
        if (t->dims[i] && count > (INT64_MAX >> 4) / t->dims[i])
            return pl_err_set(err, PL_EINPUT, "tensor '%s': dims multiply to more than 2^59", name);
        count *= t->dims[i];
    }
    return true;
}

/* Elements of a typed field as bytes of the stored type. */
static void pack(const Onnx__TensorProto *t, const pl_stored *s, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (s->onnx == 11) {
            memcpy(to + 8 * i, &t->double_data[i], 8);
        } else if (s->onnx == 7) {
            memcpy(to + 8 * i, &t->int64_data[i], 8);
        } else if (s->onnx == 12) {
            uint32_t x = (uint32_t)t->uint64_data[i];
            memcpy(to + 4 * i, &x, 4);
        } else {
            memcpy(to + s->bytes * i, &t->int32_data[i], (size_t)s->bytes); /* little-endian */
        }
    }
}

static bool take_typed(const Onnx__TensorProto *t, int64_t count, pl_arena *a, pl_tensor *x,
                       pl_err *err)
{
    const pl_stored *s = x->stored;
    size_t n = s->onnx == 1    ? t->n_float_data
               : s->onnx == 11 ? t->n_double_data
               : s->onnx == 7  ? t->n_int64_data
               : s->onnx == 12 ? t->n_uint64_data
                               : t->n_int32_data;
    if ((int64_t)n != count)
        return pl_err_set(err, PL_EINPUT, "tensor '%s': %zu elements of data, dims say %lld",
                          x->name, n, (long long)count);
    if (s->onnx == 1) {
        x->data = t->float_data;
        return true;
    }
    uint8_t *to = pl_arena_get(a, (size_t)count + 1, (size_t)s->bytes);
    pack(t, s, count, to);
    x->data = to;
    return true;
}

bool pl_tensor_read(const Onnx__TensorProto *t, const char *name, pl_arena *a, pl_tensor *out,
                    pl_err *err)
{
    *out = (pl_tensor){ .name = name, .stored = pl_stored_find(t->data_type) };
    if (!out->stored)
        return pl_err_set(err, PL_EUNSUPPORTED, "tensor '%s': data_type %d (%s) is not supported",
                          name, t->data_type, pl_stored_name(t->data_type));
    out->type = out->stored->type;
    PL_TRY(read_shape(t, name, &out->shape, err));
    int64_t count = pl_shape_count(&out->shape);
    out->bytes = count * out->stored->bytes;
    if (t->has_raw_data) {
        if ((int64_t)t->raw_data.len != out->bytes)
            return pl_err_set(err, PL_EINPUT, "tensor '%s': raw_data has %zu bytes, dims say %lld",
                              name, t->raw_data.len, (long long)out->bytes);
        out->data = t->raw_data.data ? (const void *)t->raw_data.data : "";
        return true;
    }
    size_t any =
        t->n_float_data + t->n_int32_data + t->n_int64_data + t->n_double_data + t->n_uint64_data;
    if (any) return take_typed(t, count, a, out, err);
    if (!count) out->data = "";
    return true;
}

/* -- elements ---------------------------------------------------------------------------------- */

static float widen_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, bits;
    if (e == 31) {
        bits = sign | 0x7f800000 | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else {
        float x = (float)m * 0x1p-24f; /* subnormal, or 0 */
        memcpy(&bits, &x, 4);
        bits |= sign;
    }
    float y;
    memcpy(&y, &bits, 4);
    return y;
}

static double get_stored(const pl_stored *s, const uint8_t *at)
{
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    double d;
    switch (s->onnx) {
    case 3: memcpy(&i8, at, 1); return i8;
    case 4: memcpy(&u16, at, 2); return u16;
    case 5: memcpy(&i16, at, 2); return i16;
    case 9: return *at != 0;
    case 10: memcpy(&u16, at, 2); return (double)widen_half(u16);
    case 11: memcpy(&d, at, 8); return d;
    default: memcpy(&u32, at, 4); return u32;
    }
}

/* Is an element stored as one of its type is? */
static bool is_plain(const pl_stored *s)
{
    return s->bytes == pl_type_bytes(s->type) && s->onnx != 9;
}

void pl_tensor_convert(const pl_tensor *t, const void *from, int64_t n, void *to)
{
    const pl_stored *s = t->stored;
    if (is_plain(s))
        memcpy(to, from, (size_t)(n * s->bytes));
    else
        for (int64_t i = 0; i < n; i++)
            pl_type_put(t->type, to, i, get_stored(s, (const uint8_t *)from + i * s->bytes));
}

void pl_tensor_pick(const pl_tensor *t, const void *from, int64_t first, int64_t step, int64_t n,
                    void *to)
{
    const uint8_t *at = from;
    const int64_t size = t->stored->bytes;
    if (step == 1)
        pl_tensor_convert(t, at + first * size, n, to);
    else
        for (int64_t i = 0; i < n; i++)
            pl_tensor_convert(t, at + (first + i * step) * size, 1,
                              (uint8_t *)to + i * pl_type_bytes(t->type));
}

bool pl_tensor_map(const pl_tensor *t, const void **at, void **map, size_t *bytes, pl_err *err)
{
    *map = NULL, *bytes = 0;
    *at = t->data;
    if (t->data) return true;
    PL_TRY(pl_file_map(t->path, map, bytes, err));
    *at = (const uint8_t *)*map + t->at;
    if (t->at + t->bytes <= (int64_t)*bytes) return true;
    pl_file_unmap(*map, *bytes);
    return pl_err_set(err, PL_EINPUT, "%s: '%s' lies at %lld and has %lld bytes, the file has %zu",
                      t->path, t->name, (long long)t->at, (long long)t->bytes, *bytes);
}

void pl_tensor_unmap(void *map, size_t bytes)
{
    if (map) pl_file_unmap(map, bytes);
}

pl_tensor pl_tensor_of(pl_type type, const pl_shape *shape, const void *data)
{
    pl_tensor t = { .name = "", .type = type, .shape = *shape, .data = data };
    for (int i = 0; i < N_STORED; i++)
        if (stored[i].type == type && is_plain(&stored[i])) {
            t.stored = &stored[i];
            break;
        }
    t.bytes = pl_shape_count(shape) * pl_type_bytes(type);
    return t;
}

double pl_tensor_get(const pl_tensor *t, int64_t i)
{
    const uint8_t *at = (const uint8_t *)t->data + i * t->stored->bytes;
    uint64_t aligned;
    if (!is_plain(t->stored)) return get_stored(t->stored, at);
    memcpy(&aligned, at, (size_t)t->stored->bytes);
    return pl_type_get(t->type, &aligned, 0);
}
