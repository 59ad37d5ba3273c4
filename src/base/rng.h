/* base/rng.h - random numbers that are a pure function of (key, index).
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Drawn on
 * the *global* element index, so that a split program draws the same masks and weights as the
 * whole. */
#ifndef PL_BASE_RNG_H
#define PL_BASE_RNG_H
#include <stdbool.h>
#include <stdint.h>

typedef struct pl_rng {
    uint32_t key[2];   /* the seed                                      */
    uint32_t stream[2]; /* which sequence: a tensor, a step, a purpose   */
} pl_rng;

pl_rng pl_rng_at(uint64_t seed, uint64_t stream);
uint64_t pl_rng_mix(uint64_t a, uint64_t b);  /* a stream made of two numbers      */
uint64_t pl_rng_name(const char *text);       /* a stream made of a name (FNV-1a)  */

/* The four 32-bit words of counter block `block`. */
void pl_rng_block(pl_rng r, uint64_t block, uint32_t out[4]);

uint32_t pl_rng_u32(pl_rng r, uint64_t index);             /* word index % 4 of block index / 4  */
double pl_rng_uniform(pl_rng r, uint64_t index);           /* [0, 1), 2^-32 apart                */
double pl_rng_normal(pl_rng r, uint64_t index);            /* mean 0, variance 1 (Box-Muller)    */
void pl_rng_normals(pl_rng r, uint64_t block, double out[4]); /* indices 4 block .. 4 block + 3   */
uint64_t pl_rng_below(pl_rng r, uint64_t index, uint64_t n); /* 0 .. n-1                         */

/* Zipf's law over 0 .. n-1: k with a probability in proportion to (k + 1)^-s. Rejection-inversion
 * (Hormann & Derflinger, ACM TOMACS 6(3), 1996), made once for an n and an s >= 0. */
typedef struct pl_zipf {
    double n, s, first, last, near;
} pl_zipf;

pl_zipf pl_zipf_of(uint64_t n, double s);
uint64_t pl_rng_zipf(pl_rng r, uint64_t index, const pl_zipf *z);

/* The same words for whoever takes neighbours: it remembers the block of the last one. */
typedef struct pl_draw {
    pl_rng rng;
    bool begun;
    uint64_t block;
    uint32_t word[4];
} pl_draw;

double pl_draw_uniform(pl_draw *d, uint64_t index); /* pl_rng_uniform(d->rng, index) */

#endif
