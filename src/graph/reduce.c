/* The folds, one loop for each type and way to combine, written once as the macro FOLD. */
#include "graph/reduce.h"

#include <string.h>

typedef union bits_of {
    uint32_t bits;
    float f;
} bits_of;

/* The conversions of graph/type.h without a call per element, so that the loops vectorise; the test
 * compares them. */
static inline float widen(uint16_t x)
{
    bits_of u = { .bits = (uint32_t)x << 16 };
    return u.f;
}

static inline uint16_t narrow(float x)
{
    bits_of u = { .f = x };
    uint32_t even = (u.bits + 0x7FFFu + (u.bits >> 16 & 1)) >> 16, quiet = u.bits >> 16 | 0x40;
    return (uint16_t)((u.bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : even);
}

void pl_reduce_load(pl_type type, pl_reduce_acc *acc, const void *from, int64_t n)
{
    if (type == PL_BF16) {
        const uint16_t *x = from;
        for (int64_t i = 0; i < n; i++) acc->f32[i] = widen(x[i]);
        return;
    }
    memcpy(acc, from, (size_t)(n * pl_type_bytes(type)));
}

void pl_reduce_store(pl_type type, void *to, const pl_reduce_acc *acc, int64_t n)
{
    if (type == PL_BF16) {
        uint16_t *y = to;
        for (int64_t i = 0; i < n; i++) y[i] = narrow(acc->f32[i]);
        return;
    }
    memcpy(to, acc, (size_t)(n * pl_type_bytes(type)));
}

/* One fold per type: acc is an array of A, x one of X; AS reads an element of either as an ordered
 * number. The maximum of floats keeps a NaN: v != v takes it, and nothing compares above it. */
#define FOLD(name, A, X, WIDEN, AS)                                                                \
    static void name(pl_monoid op, A *restrict acc, const X *restrict x, int64_t n)                \
    {                                                                                              \
        if (op == PL_SUM)                                                                          \
            for (int64_t i = 0; i < n; i++) acc[i] = (A)(acc[i] + WIDEN(x[i]));                    \
        else if (op == PL_MAX)                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                      \
                A v = WIDEN(x[i]);                                                                 \
                acc[i] = AS(v) > AS(acc[i]) || AS(v) != AS(v) ? v : acc[i];                        \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                A v = WIDEN(x[i]);                                                                 \
                acc[i] = AS(v) < AS(acc[i]) || AS(v) != AS(v) ? v : acc[i];                        \
            }                                                                                      \
    }
#define SAME(v) (v)
#define AS_I32(v) ((int32_t)(v))
#define AS_I64(v) ((int64_t)(v))
FOLD(fold_f32, float, float, SAME, SAME)
FOLD(fold_bf16, float, uint16_t, widen, SAME)
FOLD(fold_f64, double, double, SAME, SAME)
FOLD(fold_i32, uint32_t, uint32_t, SAME, AS_I32)
FOLD(fold_i64, uint64_t, uint64_t, SAME, AS_I64)
FOLD(fold_u8, uint8_t, uint8_t, SAME, SAME)

void pl_reduce_fold(pl_type type, pl_monoid op, pl_reduce_acc *acc, const void *from, int64_t n)
{
    switch (type) {
    case PL_F32: fold_f32(op, acc->f32, from, n); return;
    case PL_BF16: fold_bf16(op, acc->f32, from, n); return;
    case PL_F64: fold_f64(op, acc->f64, from, n); return;
    case PL_I32: fold_i32(op, acc->i32, from, n); return;
    case PL_I64: fold_i64(op, acc->i64, from, n); return;
    case PL_U8: fold_u8(op, acc->u8, from, n); return;
    case PL_N_TYPES: break;
    }
    pl_bug(__FILE__, __LINE__, "type %d", (int)type);
}

void pl_reduce_into(pl_type type, pl_monoid op, void *to, const void *from, int64_t n)
{
    pl_reduce_acc acc;
    for (int64_t at = 0, k, size = pl_type_bytes(type); at < n; at += k) {
        k = n - at < PL_REDUCE_BLOCK ? n - at : PL_REDUCE_BLOCK;
        pl_reduce_load(type, &acc, (const char *)to + at * size, k);
        pl_reduce_fold(type, op, &acc, (const char *)from + at * size, k);
        pl_reduce_store(type, (char *)to + at * size, &acc, k);
    }
}
