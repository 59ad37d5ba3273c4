/* Philox4x32-10 in vectors; the constants are those of base/rng.c (Salmon et al. 2011, table 2). */
#include "backends/native/philox.h"

/* Rounds are the outer loop: a lane's ten, one after the other, compilers leave to scalars. */
void pl_philox_lanes(pl_rng r, const uint64_t block[PL_PHILOX_LANES],
                     uint32_t word[4][PL_PHILOX_LANES])
{
    uint32_t k0 = r.key[0], k1 = r.key[1];
    uint32_t *restrict c0 = word[0], *restrict c1 = word[1], *restrict c2 = word[2],
                       *restrict c3 = word[3];
#pragma omp simd
    for (int i = 0; i < PL_PHILOX_LANES; i++) {
        c0[i] = (uint32_t)block[i], c1[i] = (uint32_t)(block[i] >> 32);
        c2[i] = r.stream[0], c3[i] = r.stream[1];
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
#pragma omp simd
        for (int i = 0; i < PL_PHILOX_LANES; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
        }
}
