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

enum { PL_HUNT_KNOWN = 16 };

/* What all parts of one search share. */
typedef struct pl_hunt {
    const pl_sum *s;
    const pl_search_options *o;
    double cap, least;          /* least: memory of any choice                                   */
    pl_solution best;           /* the fastest that fits                                         */
    int *known[PL_HUNT_KNOWN];  /* choices found, in turn                                        */
    int n_known;
    int64_t work;
    pl_arena *arena;            /* of the choices                                                */
} pl_hunt;

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
void pl_hunt_offer(pl_hunt *h, pl_branch *x, const int *value);

/* What a choice's time must be less than; whether no choice of the part can be. */
double pl_hunt_goal(const pl_hunt *h);
bool pl_branch_is_closed(const pl_hunt *h, const pl_branch *x);

/* What is open between a part's bound and the best choice; the bound while there is none. */
double pl_branch_gap(const pl_hunt *h, const pl_branch *x);

/* Every cost gets that many times its memory more or less. Bounds of values are lost, potentials
 * stay. */
void pl_branch_reprice(pl_branch *x, double price);

/* The first passes, with memory free; where what they find does not fit, a first price. */
void pl_branch_begin(pl_hunt *h, pl_branch *x);

/* One round of passes; then values that are in no better choice go. Returns what the bound gained
 * since it was at this price. */
double pl_branch_raise(pl_hunt *h, pl_branch *x);

/* Such rounds, over the prices, while they gain a part of the gap: at most `rounds`, and until the
 * work is `most`. */
void pl_branch_bound(pl_hunt *h, pl_branch *x, bool root, int rounds, int64_t most);

/* The best choice within the cap of the values that the last 2, 4, .. `most` known choices have. */
void pl_branch_mix(pl_hunt *h, pl_branch *x, int most);

/* Compares all choices of the part. False: that would be, or was, too much work. */
bool pl_branch_eliminate(pl_hunt *h, pl_branch *x);

#endif
