/* backends/native/native.h - kernels of plain C loops, written for the vectoriser, parallel by
 * OpenMP.
 *
 * This folder and widen are compiled with -O3 -march=native -ffast-math, so its files never rely on
 * infinities or NaN. Almost all kernels take f32. Answers do not depend on the number of threads:
 * work is cut into pieces whose size follows from the shapes alone, and sums over pieces are
 * combined in their order. */
#ifndef PL_BACKENDS_NATIVE_NATIVE_H
#define PL_BACKENDS_NATIVE_NATIVE_H
#include "run/kernel.h"

extern const pl_backend pl_backend_native;

/* What the processor has to have, by the names of base/cpu.h; ends with NULL. */
extern const char *const pl_native_needs[];

#endif
