/* import/tensor.h - tensors of an ONNX file: their types, shapes, and where their elements lie. */
#ifndef PL_IMPORT_TENSOR_H
#define PL_IMPORT_TENSOR_H
#include "base/err.h"
#include "graph/type.h"
#include "import/onnx.pb-c.h"

static const int64_t PL_MOST_SIZE = INT64_C(1) << 40; /* of a dimension; a slice's end */

/* How elements are stored. ONNX has more types; these are the ones that become pleat's. */
typedef struct pl_stored {
    const char *name; /* "float16"                                                          */
    int onnx;         /* TensorProto.DataType                                               */
    int bytes;        /* of an element                                                      */
    pl_type type;     /* that it becomes: doubles and halves are f32, booleans u8 (0 or 1)  */
    bool exact;       /* every value is also one of that type                               */
} pl_stored;

const pl_stored *pl_stored_find(int onnx); /* or NULL */
const char *pl_stored_name(int onnx);      /* also of those that are not supported */

/* A constant of the file, or a computed one. */
typedef struct pl_tensor {
    const char *name;
    const pl_stored *stored;
    pl_type type;
    pl_shape shape;
    const void *data;   /* its elements as stored, row-major; NULL: in a file                    */
    const char *path;   /* of that file                                                          */
    int64_t at, bytes;  /* place and size in it                                                  */
} pl_tensor;

/* The tensor of a message, whose payload may have been left out (then data and path are NULL).
 * `out` points into the message and the arena. Fails with PL_EINPUT (name, field, numbers) or
 * PL_EUNSUPPORTED (its type). */
PL_MUST_CHECK bool pl_tensor_read(const Onnx__TensorProto *t, const char *name, pl_arena *a,
                                  pl_tensor *out, pl_err *err);

/* n of its elements, from number `from` on, as those of its type; the elements are in memory at
 * `stored`, which need not be aligned. */
void pl_tensor_convert(const pl_tensor *t, const void *stored, int64_t n, void *to);

/* Elements first, first + step, ... of it, n in all, into `to` as its type; `stored` as above. */
void pl_tensor_pick(const pl_tensor *t, const void *stored, int64_t first, int64_t step, int64_t n,
                    void *to);

/* Its elements in memory: *at, which is valid until pl_tensor_unmap(map, bytes). Fails with
 * PL_EINPUT: the file is missing or too short. */
PL_MUST_CHECK bool pl_tensor_map(const pl_tensor *t, const void **at, void **map, size_t *bytes,
                                 pl_err *err);
void pl_tensor_unmap(void *map, size_t bytes);

/* A tensor of this type in memory. */
pl_tensor pl_tensor_of(pl_type type, const pl_shape *shape, const void *data);

double pl_tensor_get(const pl_tensor *t, int64_t i); /* of one in memory */

#endif
