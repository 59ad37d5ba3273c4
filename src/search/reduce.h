/* search/reduce.h - variables with one or two neighbours taken out of a sum, exactly.
 *
 * A variable with one neighbour becomes a part of that one's own costs; one with two becomes a
 * table of them, added to the one that they share, if they do. What is left is smaller and has
 * fewer cycles, so that potentials (net.h) come much nearer to its least. (Reductions RI and RII
 * of partitioned boolean quadratic problems: Scholz and Eckstein, LCTES 2002.)
 *
 * What is taken out depends on which variables share tables and on their sizes, never on costs. */
#ifndef PL_SEARCH_REDUCE_H
#define PL_SEARCH_REDUCE_H
#include "search/sum.h"

typedef struct pl_reduced {
    int n;                   /* variables of the whole sum                                       */
    pl_sum sum;              /* what is left: its times are weighted, and it has no memory       */
    int *left;               /* [sum.n] which variables that are, rising                         */
    int *place;              /* [n] where each is among them; -1: it was taken out               */
    int n_taken;
    struct pl_taken *taken;  /* [n_taken] in turn                                                */
    int64_t work;            /* table entries read                                               */
} pl_reduced;

/* keep[v] (NULL: none) stay. The sum's tables live as long as `arena`, which owns all else. */
pl_reduced *pl_sum_reduce(const pl_sum *sum, pl_cost weights, const bool *keep, pl_arena *arena);

/* value[n] of what is left: the same in the smaller one. */
void pl_reduced_drop(const pl_reduced *reduced, const int *value, int *left);

/* The other way round: those taken out get their best value, the first of equals. */
void pl_reduced_restore(const pl_reduced *reduced, const int *left, int *value);

#endif
