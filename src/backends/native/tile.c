/* A product by blocks of rows and two vectors of columns, which stay in registers for all of the
 * depth (Goto and van de Geijn, 2008, without packing: what a tile holds is in a cache already). */
#include "backends/native/tile.h"

#ifdef __AVX512F__
enum { ROWS = 8 };
#else
enum { ROWS = 4 };
#endif

typedef float __attribute__((vector_size(4 * PL_TILE_FLOATS), may_alias)) vector;

/* `rows` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void multiply_rows(int rows, int64_t n, int64_t depth,
                                                                pl_tile_left left, const float *b,
                                                                float *c, bool add)
{
    vector sum[ROWS][2];
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < 2; k++)
            sum[r][k] = add ? ((const vector *)(c + r * n))[k] : (vector){ 0 };
    for (int64_t p = 0; p < depth; p++) {
        const vector *x = (const vector *)(b + p * n);
        const vector b0 = x[0], b1 = x[1];
        for (int r = 0; r < rows; r++) {
            const float a = left.a[r * left.row + p * left.depth];
            sum[r][0] += a * b0;
            sum[r][1] += a * b1;
        }
    }
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < 2; k++) ((vector *)(c + r * n))[k] = sum[r][k];
}

static void multiply_panel(int64_t m, int64_t n, int64_t depth, pl_tile_left left, const float *b,
                           float *c, bool add)
{
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS, left.a += ROWS * left.row)
        multiply_rows(ROWS, n, depth, left, b, c + i * n, add);
    for (; i < m; i++, left.a += left.row) multiply_rows(1, n, depth, left, b, c + i * n, add);
}

void pl_tile_multiply(int64_t m, int64_t n, int64_t depth, pl_tile_left left, const float *b,
                      float *c, bool add)
{
    for (int64_t j = 0; j < n; j += PL_TILE_COLUMNS)
        multiply_panel(m, n, depth, left, b + j, c + j, add);
}
