/* backends/null/null.h - computes nothing: programs of any size run on a laptop, books are kept. */
#ifndef PL_BACKENDS_NULL_NULL_H
#define PL_BACKENDS_NULL_NULL_H
#include "run/kernel.h"

extern const pl_backend pl_backend_null;

#endif
