/* graph/type.h - element types and shapes of tensors. */
#ifndef PL_GRAPH_TYPE_H
#define PL_GRAPH_TYPE_H
#include "base/json.h"

/* f64 is for graphs that are computed once more, to tell rounding from error (verify/verify.h):
 * no builder makes it, no text of a graph names it, and the reference kernels alone compute it. */
typedef enum pl_type { PL_F32, PL_BF16, PL_F64, PL_I32, PL_I64, PL_U8, PL_N_TYPES } pl_type;

/* How partial results combine. */
typedef enum pl_monoid { PL_SUM, PL_MAX, PL_MIN, PL_N_MONOIDS } pl_monoid;

const char *pl_type_name(pl_type type);  /* "f32"                                  */
int64_t pl_type_bytes(pl_type type);     /* of one element                         */
bool pl_type_is_float(pl_type type);
PL_MUST_CHECK bool pl_type_find(const char *name, pl_type *type); /* any but f64 */

/* Element i of an array of any type, as the slow reference kernels read and write it. An i64 beyond
 * 2^53 loses digits here; bf16 is rounded to nearest even; a whole number out of range becomes the
 * nearest of the type. */
double pl_type_get_any(pl_type type, const void *array, int64_t i);
void pl_type_put(pl_type type, void *array, int64_t i, double value);

/* pl_type_get_any, without a call where most are. */
static inline double pl_type_get(pl_type type, const void *array, int64_t i)
{
    return type == PL_F32 ? (double)((const float *)array)[i] : pl_type_get_any(type, array, i);
}

/* n elements of what changes nothing when it is combined: 0 for a sum, the least value of the type
 * for a maximum, the largest for a minimum. */
void pl_type_fill(pl_type type, pl_monoid monoid, void *array, int64_t n);

uint16_t pl_bf16_round(float x);  /* to nearest even */
float pl_bf16_widen(uint16_t x);

enum { PL_MAX_RANK = 8 };

/* Row-major: the last dimension is dense. Rank 0 is a scalar. */
typedef struct pl_shape {
    int rank;
    int64_t dim[PL_MAX_RANK];
} pl_shape;

int64_t pl_shape_count(const pl_shape *shape); /* elements */
bool pl_shape_same(const pl_shape *a, const pl_shape *b);
void pl_shape_strides(const pl_shape *shape, int64_t stride[PL_MAX_RANK]); /* in elements */
const char *pl_shape_text(pl_arena *arena, pl_type type, const pl_shape *shape); /* "f32[4,128]" */

/* As JSON: member "shape", [4, 128]. Read with the bytes of such a tensor; fails with PL_EINPUT,
 * also where they do not fit 63 bits. */
PL_MUST_CHECK bool pl_shape_read(const pl_json *object, pl_type type, pl_shape *shape,
                                 int64_t *bytes, pl_err *err);
void pl_shape_write(const pl_shape *shape, pl_json_out *out);

#endif
