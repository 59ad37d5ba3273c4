/* search/eliminate.h - variables taken out of a sum of tables one by one, exactly.
 *
 * A variable's tables are added and its least value is taken for each choice of its neighbours: a
 * table over those (non-serial dynamic programming, Bertele and Brioschi 1972; bucket elimination,
 * Dechter 1999). The cost is exponential only in the largest such table. */
#ifndef PL_SEARCH_ELIMINATE_H
#define PL_SEARCH_ELIMINATE_H
#include "base/arena.h"
#include <stdint.h>

/* An order of elimination: always the variable whose tables multiply to the fewest entries. */
typedef struct pl_order {
    int n;              /* variables to eliminate                                                */
    int *var;           /* [n]                                                                   */
    double most, work;  /* entries of the largest table that is made; entries read in all        */
} pl_order;

/* Row-major over var[n], the last one fastest. */
typedef struct pl_sum_table {
    int n;
    const int *var;
    const double *cost;
} pl_sum_table;

/* Variables 0 .. n-1 of size[v] values; keep[v] (NULL: none) stay. It gives up above `most_work`:
 * work is infinite then. */
pl_order pl_order_find(int n, const int *size, int n_tables, const pl_sum_table *table,
                       const bool *keep, double most_work, pl_arena *arena);

/* A variable's use in a table, and the one added before it (its place + 1; 0: none). */
typedef struct pl_use {
    int table, before;
} pl_use;

typedef struct pl_eliminate {
    int n;
    const int *size;
    int n_tables, cap_tables; /* given, then made: each is used once                             */
    pl_sum_table *table;      /* n is 0 once it is used                                          */
    int n_uses, cap_uses;
    pl_use *use;
    int *last_use;            /* [n]                                                             */
    double constant;          /* of tables without variables                                     */
    struct pl_bucket *bucket; /* [order.n] what the trace needs                                  */
    pl_order order;
    int64_t work;
    pl_arena *arena;
} pl_eliminate;

/* The arena owns all tables made. size, scopes and costs are not copied. */
pl_eliminate *pl_eliminate_new(int n, const int *size, pl_arena *arena);
void pl_eliminate_add(pl_eliminate *eliminate, int n, const int *var, const double *cost);

/* Eliminates in that order, which is from pl_order_find for these very tables. */
void pl_eliminate_run(pl_eliminate *eliminate, pl_order order);

/* The sum of what is left as one table over var[n], which holds every variable that was kept. */
double *pl_eliminate_rest(const pl_eliminate *eliminate, int n, const int *var);

/* index[] holds the kept variables' values and gets those of the others, the first of equals. */
void pl_eliminate_trace(const pl_eliminate *eliminate, int *index);

#endif
