/* search/search.h - the least sum of tables (sum.h), with a proof.
 *
 * In this order: potentials move costs between tables until the sum of their least entries is a
 * good lower bound (net.h); values that cannot be in a better choice go; what is left is
 * eliminated variable by variable (eliminate.h), branching when a table would be too large. A
 * memory cap is priced (cap.h). Each method may change the time it takes, never the cost that is
 * found. */
#ifndef PL_SEARCH_SEARCH_H
#define PL_SEARCH_SEARCH_H
#include "search/sum.h"

/* All zero is the default. */
typedef struct pl_search_options {
    bool no_bound;        /* no potentials: nothing is deleted by its bound                      */
    bool no_reduction;    /* variables with one or two neighbours stay                           */
    bool no_dominance;    /* values that another one always beats stay                           */
    bool no_elimination;  /* branch only                                                         */
    bool no_power;        /* chain: write out every copy and solve the one long sum              */
    bool no_unroll;       /* chain: fold 3 or more copies even where that saves no time          */
    bool no_mixing;       /* cap: no Pareto fronts, only what the price of memory finds          */
    double gap;           /* stop when time - bound is at most this part of time; 0: 9e-10        */
    int passes;           /* of potentials, at most, before anything else is tried; 0: 2^14      */
    int front;            /* (time, memory) labels kept per entry; 0: 1024                       */
    int64_t table_limit;  /* entries of one table of the elimination; 0: 2^20                    */
    int64_t work_limit;   /* entries read in one elimination; 0: 2^26                            */
    int64_t node_limit;   /* branchings; 0: 1000                                                 */
    const int *start;     /* a choice to be better than; NULL: none                              */
    int64_t effort;       /* entries read, about, before it ends with what is known; 0: 2^29    */
    double until;         /* by the clock (base/clock.h): the same once something is known; 0: no */
    double target;        /* chain pairs: a choice that takes less is good enough; 0: none       */
} pl_search_options;

typedef struct pl_answer {
    int *value;           /* [n] of a chain: outside, then copy 0, copy 1, ...                   */
    double time, memory;  /* of `value`, term by term                                            */
    double bound;         /* no choice within the cap is faster                                  */
    bool proven;          /* time - bound is at most 1e-9 of time: rounding                      */
    double price;         /* time that one more unit of memory saves at the bound; 0: no cap     */
    int64_t work;         /* table entries read: the same on every machine                       */
} pl_answer;

/* The fastest choice with memory <= cap (INFINITY: no cap). `options` may be NULL. `out` owns
 * answer->value. Ties are broken by the order of variables and values, so equal input gives an
 * equal answer. Fails with PL_EINPUT (sum.h), or PL_EINFEASIBLE: nothing is legal, or nothing
 * fits; then the message gives the least memory possible. */
PL_MUST_CHECK bool pl_search_min(const pl_sum *sum, double cap, const pl_search_options *options,
                                 pl_arena *out, pl_answer *answer, pl_err *err);

#endif
