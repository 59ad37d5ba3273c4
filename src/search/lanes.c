/* The loops are compiled for several kinds of CPU (LANES), of which the program picks at its start
 * what fits. They add and compare as written, so all give the same numbers. */
#include "search/lanes.h"

#include <float.h>
#include <math.h>

/* Clang, until 18, names what picks otherwise than its callers do; under a sanitizer it would run
 * before that is ready. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) &&                            \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LANES __attribute__((target_clones("avx2", "default")))
#else
#define LANES
#endif

/* Four rows at a time, for fewer visits of to[]. */
LANES void pl_least_of_columns(pl_block b, const double *restrict more, double *restrict to)
{
    int x = 0;
    for (int y = 0; y < b.cols; y++) to[y] = INFINITY;
    for (; x + 3 < b.rows; x += 4) {
        const double *r0 = b.at + (size_t)x * b.stride, *r1 = r0 + b.stride, *r2 = r1 + b.stride,
                     *r3 = r2 + b.stride;
        const double m0 = more[x], m1 = more[x + 1], m2 = more[x + 2], m3 = more[x + 3];
#pragma omp simd
        for (int y = 0; y < b.cols; y++)
            to[y] = pl_lesser(to[y], pl_lesser(pl_lesser(r0[y] + m0, r1[y] + m1),
                                               pl_lesser(r2[y] + m2, r3[y] + m3)));
    }
    for (; x < b.rows; x++) {
        const double *row = b.at + (size_t)x * b.stride;
#pragma omp simd
        for (int y = 0; y < b.cols; y++) to[y] = pl_lesser(to[y], row[y] + more[x]);
    }
}

/* OpenMP starts a least from the largest number that is finite; gcc, from infinity. */
static inline double least_or_none(double least)
{
    return least < DBL_MAX ? least : INFINITY;
}

LANES void pl_least_of_rows(pl_block b, const double *restrict more, double *restrict to)
{
    for (int x = 0; x < b.rows; x++) {
        const double *row = b.at + (size_t)x * b.stride;
        double least = INFINITY;
#pragma omp simd reduction(min : least)
        for (int y = 0; y < b.cols; y++) least = pl_lesser(least, row[y] + more[y]);
        to[x] = least_or_none(least);
    }
}

LANES void pl_add_line(int n, const double *from, size_t step, double *restrict to)
{
    if (step == 1)
#pragma omp simd
        for (int i = 0; i < n; i++) to[i] += from[i];
    else
        for (int i = 0; i < n; i++) to[i] += from[(size_t)i * step];
}
