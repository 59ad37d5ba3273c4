/* search/lanes.h - the least of rows and columns of tables: most of what a search does. */
#ifndef PL_SEARCH_LANES_H
#define PL_SEARCH_LANES_H
#include <stddef.h>

static inline double pl_lesser(double a, double b)
{
    return a < b ? a : b;
}

/* A part of a larger table: rows lie `stride` entries apart. */
typedef struct pl_block {
    int rows, cols;
    size_t stride;
    const double *at;
} pl_block;

/* to[cols]: the least of each column of b with more[row] added. */
void pl_least_of_columns(pl_block b, const double *restrict more, double *restrict to);

/* to[rows]: the least of each row of b with more[col] added. */
void pl_least_of_rows(pl_block b, const double *restrict more, double *restrict to);

/* to[n] += from[n], whose entries lie `step` apart */
void pl_add_line(int n, const double *from, size_t step, double *restrict to);

#endif
