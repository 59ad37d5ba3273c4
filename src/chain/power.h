/* chain/power.h - min-plus products of square tables: the cheapest way through a run of copies.
 *
 * (A * B)[i][j] = min over k of A[i][k] + B[k][j]. The n-th power takes log2 n squarings; all of
 * them are kept, so the states on the way can be read back without a table of arguments. */
#ifndef PL_CHAIN_POWER_H
#define PL_CHAIN_POWER_H
#include "base/arena.h"
#include <stdint.h>

typedef struct pl_power {
    int size, steps;          /* states; copies in the run                                       */
    const struct pl_product *top;
    int64_t work;
} pl_power;

/* Rows are padded to a multiple of 4 with infinity: loops over them have no rest. */
static inline int pl_power_stride(int size)
{
    return (size + 3) / 4 * 4;
}

/* The table of `steps` copies of cost[size][size], padded to size rows of pl_power_stride(size).
 * Entries above `most` cannot be in a best run and become illegal (the result's do not: what lies
 * around the run is not known here). */
pl_power pl_power_of(const double *cost, int size, int steps, double most, pl_arena *arena);

const double *pl_power_cost(const pl_power *power); /* [size][stride] */

/* state[0 .. steps] of a cheapest run from state[0] to state[steps], which are given; between the
 * first ones of equals. */
void pl_power_trace(const pl_power *power, int *state);

#endif
