/* backends/native/tile.h - products of small matrices that a cache holds, for kernels that keep
 * what they multiply in scratch. */
#ifndef PL_BACKENDS_NATIVE_TILE_H
#define PL_BACKENDS_NATIVE_TILE_H
#include <stdbool.h>
#include <stdint.h>

#ifdef __AVX512F__
enum { PL_TILE_FLOATS = 16 }; /* of a vector */
#else
enum { PL_TILE_FLOATS = 8 };
#endif
enum { PL_TILE_COLUMNS = 2 * PL_TILE_FLOATS }; /* of a product: a multiple of these */

/* The left matrix lies anywhere: its element (i, p) is a[i * row + p * depth]. */
typedef struct pl_tile_left {
    const float *a;
    int64_t row, depth;
} pl_tile_left;

/* c[m, n] = left[m, depth] b[depth, n], added to c where `add`; b and c are dense, 64-byte aligned,
 * and n is a multiple of PL_TILE_COLUMNS. */
void pl_tile_multiply(int64_t m, int64_t n, int64_t depth, pl_tile_left left, const float *b,
                      float *c, bool add);

#endif
