/* search/sum.h - a sum of tables to be made least: the planner's problem without graph or mesh.
 *
 * Each variable takes one of its values. A value has a time and a memory, and so has each edge of
 * values of two variables that share a table. An infinite time is an illegal choice. Sought is the
 * least total time among the choices whose total memory is at most a cap. (Elsewhere: a weighted
 * constraint network, the energy of a Markov random field.) */
#ifndef PL_SEARCH_SUM_H
#define PL_SEARCH_SUM_H
#include "base/arena.h"
#include <stdint.h>

/* Tables are row-major: entry [x * n_values[b] + y] is for value x of a and y of b. */
typedef struct pl_sum_edge {
    int a, b;             /* two variables that differ (links of a chain: chain/chain.h)         */
    const double *time;   /* [values of a][values of b] finite or INFINITY                       */
    const double *memory; /* the same shape, finite; NULL: none                                  */
} pl_sum_edge;

typedef struct pl_sum {
    int n;                        /* variables                                                   */
    const int *n_values;          /* [n] at least 1                                              */
    const double *const *time;    /* [n][values] finite or INFINITY; NULL, or a NULL row: zeros  */
    const double *const *memory;  /* [n][values] finite; likewise                                */
    int n_edges;
    const pl_sum_edge *edge;      /* several may join the same two variables                     */
} pl_sum;

/* What a choice costs: a point of the (time, memory) plane. */
typedef struct pl_cost {
    double time, memory;
} pl_cost;

/* The cost of value[n], term by term; an infinite time when it is illegal. */
pl_cost pl_sum_cost(const pl_sum *sum, const int *value);

/* Adds the costs of n edges alone, whose ends have values in a[] and b[]; cols[]: values of the
 * ends b. */
void pl_sum_add_edges(pl_cost *sum, int n, const pl_sum_edge *edge, const int *cols, const int *a,
                      const int *b);

/* Fails with PL_EINPUT for a variable or size out of range, or an entry that is not a number (the
 * table, the row and column). `what` names the sum in the message: "block". */
PL_MUST_CHECK bool pl_sum_check(const pl_sum *sum, const char *what, pl_err *err);

/* One edge table of na x nb entries. */
PL_MUST_CHECK bool pl_sum_check_edge(const pl_sum_edge *edge, int na, int nb, const char *what,
                                     int index, pl_err *err);

/* Every choice in turn: the yardstick of the tests. value[n] gets the first of the fastest choices
 * within the cap; false when there is none. The product of all n_values must be small. */
bool pl_sum_brute(const pl_sum *sum, double cap, int *value, pl_cost *cost);

#endif
