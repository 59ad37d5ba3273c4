/* backends/native/philox.h - the words of base/rng.h, inlined so that loops over blocks become
 * vectors. Philox4x32-10; the constants are those of base/rng.c (Salmon et al. 2011, table 2). */
#ifndef PL_BACKENDS_NATIVE_PHILOX_H
#define PL_BACKENDS_NATIVE_PHILOX_H
#include "base/rng.h"

/* pl_rng_block. */
static inline void pl_philox_block(pl_rng r, uint64_t block, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = r.stream[0], c3 = r.stream[1],
             k0 = r.key[0], k1 = r.key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

#endif
