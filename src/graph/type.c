/* Element types, single elements of arrays of any type, shapes. */
#include "graph/type.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t bytes;
    bool is_float;
} types[PL_N_TYPES] = {
    [PL_F32] = { "f32", 4, true },  [PL_BF16] = { "bf16", 2, true }, [PL_F64] = { "f64", 8, true },
    [PL_I32] = { "i32", 4, false }, [PL_I64] = { "i64", 8, false },  [PL_U8] = { "u8", 1, false },
};

const char *pl_type_name(pl_type type)
{
    return types[type].name;
}

int64_t pl_type_bytes(pl_type type)
{
    return types[type].bytes;
}

bool pl_type_is_float(pl_type type)
{
    return types[type].is_float;
}

bool pl_type_find(const char *name, pl_type *type)
{
    for (int i = 0; i < PL_N_TYPES; i++)
        if (i != PL_F64 && !strcmp(types[i].name, name)) {
            *type = (pl_type)i;
            return true;
        }
    return false;
}

void pl_type_fill(pl_type type, pl_monoid monoid, void *array, int64_t n)
{
    static const float far = INFINITY;
    float f = monoid == PL_MAX ? -far : far;
    double d = (double)f;
    int32_t i = monoid == PL_MAX ? INT32_MIN : INT32_MAX;
    int64_t l = monoid == PL_MAX ? INT64_MIN : INT64_MAX;
    uint16_t b = pl_bf16_round(f);
    uint8_t u = monoid == PL_MAX ? 0 : UINT8_MAX;
    const void *value[PL_N_TYPES] = {
        [PL_F32] = &f, [PL_BF16] = &b, [PL_F64] = &d, [PL_I32] = &i, [PL_I64] = &l, [PL_U8] = &u
    };
    size_t size = (size_t)pl_type_bytes(type);
    if (monoid == PL_SUM) {
        memset(array, 0, (size_t)n * size);
        return;
    }
    for (int64_t k = 0; k < n; k++) memcpy((char *)array + (size_t)k * size, value[type], size);
}

uint16_t pl_bf16_round(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

float pl_bf16_widen(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

double pl_type_get_any(pl_type type, const void *array, int64_t i)
{
    switch (type) {
    case PL_F32: return (double)((const float *)array)[i];
    case PL_BF16: return (double)pl_bf16_widen(((const uint16_t *)array)[i]);
    case PL_F64: return ((const double *)array)[i];
    case PL_I32: return (double)((const int32_t *)array)[i];
    case PL_I64: return (double)((const int64_t *)array)[i];
    case PL_U8: return (double)((const uint8_t *)array)[i];
    case PL_N_TYPES: break;
    }
    pl_bug(__FILE__, __LINE__, "type %d", (int)type);
}

/* Whole numbers: the nearest of the type, and 0 for what is no number. */
static int64_t fit(double x, int64_t least, int64_t most)
{
    if (x != x) return 0;
    if (x <= (double)least) return least;
    return x >= (double)most ? most : (int64_t)x;
}

void pl_type_put(pl_type type, void *array, int64_t i, double value)
{
    switch (type) {
    case PL_F32: ((float *)array)[i] = (float)value; return;
    case PL_BF16: ((uint16_t *)array)[i] = pl_bf16_round((float)value); return;
    case PL_F64: ((double *)array)[i] = value; return;
    case PL_I32: ((int32_t *)array)[i] = (int32_t)fit(value, INT32_MIN, INT32_MAX); return;
    case PL_I64: ((int64_t *)array)[i] = fit(value, INT64_MIN, INT64_MAX); return;
    case PL_U8: ((uint8_t *)array)[i] = (uint8_t)fit(value, 0, UINT8_MAX); return;
    case PL_N_TYPES: break;
    }
    pl_bug(__FILE__, __LINE__, "type %d", (int)type);
}

int64_t pl_shape_count(const pl_shape *shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) n *= shape->dim[i];
    return n;
}

bool pl_shape_same(const pl_shape *a, const pl_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]);
}

void pl_shape_strides(const pl_shape *shape, int64_t stride[PL_MAX_RANK])
{
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape->dim[i];
    }
}

const char *pl_shape_text(pl_arena *arena, pl_type type, const pl_shape *shape)
{
    pl_text out = { .arena = arena };
    pl_text_add(&out, "%s[", pl_type_name(type));
    for (int i = 0; i < shape->rank; i++)
        pl_text_add(&out, i ? ",%lld" : "%lld", (long long)shape->dim[i]);
    pl_text_add(&out, "]");
    return pl_text_get(&out);
}

bool pl_shape_read(const pl_json *object, pl_type type, pl_shape *shape, int64_t *bytes,
                   pl_err *err)
{
    const pl_json *list;
    PL_TRY(pl_json_get(object, "shape", PL_JSON_LIST, &list, err));
    if (list->n > PL_MAX_RANK)
        return pl_err_set(err, PL_EINPUT, "'shape' has %d dimensions, at most %d can be read",
                          list->n, PL_MAX_RANK);
    *shape = (pl_shape){ .rank = list->n };
    *bytes = pl_type_bytes(type);
    for (int i = 0; i < shape->rank; i++) {
        shape->dim[i] = list->at[i].whole;
        if (!pl_json_is(&list->at[i], PL_JSON_INT) || shape->dim[i] < 0)
            return pl_err_set(err, PL_EINPUT, "dimension %d of 'shape' is not an integer >= 0", i);
        if (__builtin_mul_overflow(*bytes, shape->dim[i], bytes))
            return pl_err_set(err, PL_EINPUT, "'shape' overflows: more than 2^63 bytes of %s",
                              pl_type_name(type));
    }
    return true;
}

void pl_shape_write(const pl_shape *shape, pl_json_out *out)
{
    pl_json_open(out, "shape", PL_JSON_LIST);
    for (int i = 0; i < shape->rank; i++) pl_json_put_int(out, NULL, shape->dim[i]);
    pl_json_close(out);
}
