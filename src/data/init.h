/* data/init.h - initial values of states: drawn, listed, or from a file, by the global element
 * index: every device that holds a part of a weight, under any plan, gets the same numbers. */
#ifndef PL_DATA_INIT_H
#define PL_DATA_INIT_H
#include "import/tensor.h"
#include "models/model.h"
#include "data/fill.h"

/* Stored elements by the name of a state. */
typedef struct pl_source {
    pl_stack (*find)(const void *of, const char *state);
    const void *of;
} pl_source;

typedef struct pl_init {
    uint64_t seed;
    pl_source file;    /* of the states whose initial value is "file"; find NULL: there is none  */
    pl_source weights; /* what it has goes before any initial value;   find NULL: nothing        */
} pl_init;

/* The tensors of the file that a model is from. */
pl_source pl_init_model(const pl_model_args *args);

/* Fill one device's part of a state. The state's `init`: "zeros", "ones", "normal std=S",
 * "uniform a=A" (in [-A, A)), "values V V ..." (all elements, row-major) or "file"; floats only for
 * the random ones. Fails with PL_EINPUT on anything else; when the values are too few, too many or
 * not of the type; when the tensor of a source is missing, unreadable, of another shape or kind. */
PL_MUST_CHECK bool pl_init_fill(const pl_port *port, const pl_init *from, void *data, pl_err *err);

#endif
