/* bench/search/ilp.h - the whole graph as one integer program, as Alpa states it (Zheng et al.,
 * OSDI 2022, section 4.2), solved by CBC: what pleat's own search is measured against.
 *
 *   min  sum c[v,i] x[v,i] + sum r[p,i,j] e[p,i,j]
 *   s.t. sum_i x[v,i] = 1                                     x in {0, 1}
 *        sum_j e[p,i,j] = x[a,i], sum_i e[p,i,j] = x[b,j]     e >= 0
 *        sum m[v,i] x[v,i] + sum m[p,i,j] e[p,i,j] <= cap     if there is a cap
 *
 * x: variable v of the sum takes value i; e: pair p has (i, j), which need not be said to be whole:
 * it follows from x. Alpa has e in {0, 1} too, and a cap per moment of the step; its rows of e are
 * inequalities, which the sum above makes equal. Pairs of the same two variables are one; what
 * costs an infinite time has no column. One thread. */
#ifndef PL_BENCH_SEARCH_ILP_H
#define PL_BENCH_SEARCH_ILP_H
#include "search/sum.h"

typedef struct ilp_result {
    int64_t columns, rows, entries; /* of the program                                            */
    bool found;                     /* a choice, in value[n]                                     */
    int *value;
    double objective, memory;       /* of it, by the sum's own tables                            */
    double bound;                   /* no choice is below, says CBC                              */
    bool proven;                    /* CBC calls the choice the least                            */
    double seconds;                 /* to write the program and to solve it                      */
} ilp_result;

/* Stops after about so many seconds, found or not. Fails with PL_EUNSUPPORTED when built without
 * CBC, or when the program has more columns than `columns_limit` (result->columns says how many);
 * with PL_EINFEASIBLE when CBC proves that there is no choice. `out` owns result->value. */
PL_MUST_CHECK bool ilp_min(const pl_sum *s, double cap, double seconds_limit, int64_t columns_limit,
                           pl_arena *out, ilp_result *result, pl_err *err);

bool ilp_is_built(void); /* with CBC */

#endif
