/* backends/ref/ref.h - the portable kernels: each operator's reference, always there, and last. */
#ifndef PL_BACKENDS_REF_REF_H
#define PL_BACKENDS_REF_REF_H
#include "run/kernel.h"

extern const pl_backend pl_backend_ref;

#endif
