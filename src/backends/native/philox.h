/* backends/native/philox.h - the words of base/rng.h, of many blocks side by side. */
#ifndef PL_BACKENDS_NATIVE_PHILOX_H
#define PL_BACKENDS_NATIVE_PHILOX_H
#include "base/rng.h"

enum { PL_PHILOX_LANES = 64 };

/* word[k][i] becomes word k of block block[i], as pl_rng_block has it. */
void pl_philox_lanes(pl_rng r, const uint64_t block[PL_PHILOX_LANES],
                     uint32_t word[4][PL_PHILOX_LANES]);

#endif
