/* base/hash.h - one step of a hash of numbers: not for random numbers, not against an enemy. */
#ifndef PL_BASE_HASH_H
#define PL_BASE_HASH_H
#include <stdint.h>

static inline uint64_t pl_hash_mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

#endif
