/* base/hash.h - hashes of numbers and texts, a step at a time, the same on every machine: not for
 * random numbers, not against an enemy. */
#ifndef PL_BASE_HASH_H
#define PL_BASE_HASH_H
#include <stdint.h>
#include <string.h>

/* Different x give different hashes. */
static inline uint64_t pl_hash_mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Eight bytes, the first one lowest. */
static inline uint64_t pl_hash_load(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static inline uint64_t pl_hash_span(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    unsigned char rest[8] = { 0 };
    hash = pl_hash_mix(hash, n);
    for (; n >= 8; n -= 8, at += 8) hash = pl_hash_mix(hash, pl_hash_load(at));
    memcpy(rest, at, n);
    return n ? pl_hash_mix(hash, pl_hash_load(rest)) : hash;
}

static inline uint64_t pl_hash_text(uint64_t hash, const char *text)
{
    return pl_hash_span(hash, text, strlen(text));
}

#endif
