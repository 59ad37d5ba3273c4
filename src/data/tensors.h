/* data/tensors.h - the tensors of a safetensors file, mapped, by name. */
#ifndef PL_DATA_TENSORS_H
#define PL_DATA_TENSORS_H
#include "import/tensor.h"

#define PL_TENSORS_ENDING ".safetensors"

typedef struct pl_tensors {
    const char *path;
    void *map;
    size_t map_bytes;
    int n;
    pl_tensor *tensor;   /* [n] sorted by name, in memory; stored NULL: of a type without a use   */
    const char **dtype;  /* [n] as the file spells them: "F16"                                    */
} pl_tensors;

/* Map a file until pl_tensors_free; `arena` owns the rest. Fails with PL_EINPUT: which file. */
PL_MUST_CHECK bool pl_tensors_open(const char *path, pl_arena *arena, pl_tensors *out, pl_err *err);
void pl_tensors_free(pl_tensors *tensors);

/* Its place, or -1. */
int pl_tensors_find(const pl_tensors *tensors, const char *name);

/* Is tensor i good for a state or input of this type and shape? Its shape has to be the same, or,
 * with `rows`, but for the first dimension; every element has to be one of the type, and of its
 * kind, floats or whole numbers. Fails with PL_EINPUT, naming the tensor: both shapes, both types,
 * or the first element that does not convert. */
PL_MUST_CHECK bool pl_tensors_fit(const pl_tensors *tensors, int i, pl_type type,
                                  const pl_shape *shape, bool rows, pl_err *err);

#endif
