/* search/branch.h - a part of the choices under a memory cap: bounds, and choices found on the way.
 *
 * The choices are those of the values that a net has left. Memory has a price in it, so that the
 * net's bound less price * cap is a bound of the time within the cap. Passes and prices take turns:
 * a new price is where the lines of two choices meet, one that is too large and one that fits, and
 * the potentials of the last one are where its passes start. */
#ifndef PL_SEARCH_BRANCH_H
#define PL_SEARCH_BRANCH_H
#include "search/solve.h"

/* A choice and what it costs: over the price of memory a line. */
typedef struct pl_solution {
    int *value; /* NULL: none */
    pl_cost cost;
} pl_solution;

enum { PL_POOL_KNOWN = 16 };

/* What all parts of one search share: the incumbent, other choices found, the limits. */
typedef struct pl_pool {
    const pl_sum *sum;
    const pl_search_options *options;
    double cap, least;          /* least: memory of any choice                                   */
    pl_solution best;           /* the fastest that fits                                         */
    int *known[PL_POOL_KNOWN];  /* choices found, in turn                                        */
    int n_known;
    int64_t work;
    pl_arena *arena;            /* of the choices                                                */
} pl_pool;

typedef struct pl_branch {
    pl_net *net;          /* weights (1, price), with memory                                     */
    double price;
    double bound;         /* every choice of it within the cap takes at least this time          */
    pl_solution over, under; /* choices of it: the last that does not fit, that fits             */
    bool raised;          /* its bound is as good as passes make it                              */
    double tried;         /* entries of an elimination that is worth trying                      */
    pl_arena *arena;
} pl_branch;

/* A choice in value numbers, which is copied. Illegal ones are passed over. */
void pl_pool_offer(pl_pool *pool, pl_branch *branch, const int *value);

/* What a choice's time must be less than; whether no choice of the part can be. */
double pl_pool_goal(const pl_pool *pool);
bool pl_branch_is_closed(const pl_pool *pool, const pl_branch *branch);

/* What is open between a part's bound and the best choice; the bound while there is none. */
double pl_branch_gap(const pl_pool *pool, const pl_branch *branch);

/* Every cost gets that many times its memory more or less. Bounds of values are lost, potentials
 * stay. */
void pl_branch_reprice(pl_branch *branch, double price);

/* The first passes, with memory free; where what they find does not fit, a first price. */
void pl_branch_begin(pl_pool *pool, pl_branch *branch);

/* One round of passes; then values that are in no better choice go. Returns what the bound gained
 * since it was at this price. */
double pl_branch_raise(pl_pool *pool, pl_branch *branch);

/* Such rounds, over the prices, while they gain a part of the gap: at most `rounds`, and until the
 * work is `most`. */
void pl_branch_bound(pl_pool *pool, pl_branch *branch, bool root, int rounds, int64_t most);

/* The best choice within the cap of the values that the last 2, 4, .. `most` known choices have. */
void pl_branch_mix(pl_pool *pool, pl_branch *branch, int most);

/* Compares all choices of the part. False: that would be, or was, too much work. */
bool pl_branch_eliminate(pl_pool *pool, pl_branch *branch);

#endif
