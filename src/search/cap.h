/* search/cap.h - the fastest choice within a memory cap, by the price of memory.
 *
 * For any price >= 0 the least of time + price * (memory - cap) is a lower bound of the time within
 * the cap (Lagrangian relaxation). The price that makes it largest is found where a choice that is
 * too large and one that fits cost the same; each new price is where the lines of the last two meet
 * (Handler and Zang, Networks 1980).
 *
 * What gap is left comes from choices that lie between those two and that no price finds. It is
 * closed by branching (cap_sum.c): the two differ in some variable, and among the choices that have
 * the value of the one, or of the other, or neither, there is a better price, and values that
 * cannot be in a better choice go. A part that has become small is eliminated with Pareto fronts.
 * The part with the least bound is next, so the bound of what is left is the bound of the answer,
 * also when a limit stops the search. Chains of many copies do otherwise: chain/pair.h.
 *
 * The least memory of any choice comes first: passes find it soon, and above the cap it ends the
 * search. */
#ifndef PL_SEARCH_CAP_H
#define PL_SEARCH_CAP_H
#include "search/branch.h"

/* A choice that is known takes so little of the cap that this hardly binds the best. */
bool pl_cap_is_roomy(double cap, double memory);

/* Fails with PL_EINPUT: a cap is 0 or more. */
PL_MUST_CHECK bool pl_cap_check(double cap, pl_err *err);

/* As pl_search_min, of a sum that was checked; options with their defaults written out. */
PL_MUST_CHECK bool pl_cap_min(const pl_sum *sum, double cap, const pl_search_options *options,
                              pl_arena *out, pl_answer *answer, pl_err *err);

/* The same under a finite cap. */
PL_MUST_CHECK bool pl_cap_sum(const pl_sum *sum, double cap, const pl_search_options *options,
                              pl_arena *out, pl_answer *answer, pl_err *err);

/* Two choices of a sum between whose prices the cap lies, without branching. */
typedef struct pl_bracket {
    pl_solution over, under, best; /* too large, fits; the fastest that fits                     */
    double price;               /* of memory where the bound is largest                          */
    int64_t work;
} pl_bracket;

/* False: nothing that fits was found. */
bool pl_cap_bracket(const pl_sum *sum, double cap, const pl_search_options *options, pl_arena *out,
                    pl_bracket *bracket);

/* Fails with PL_EINFEASIBLE when no choice was found; when what was found to take the least memory
 * does not fit. */
PL_MUST_CHECK bool pl_cap_legal(const pl_minimum *found, pl_err *err);
PL_MUST_CHECK bool pl_cap_fits(const pl_minimum *found, double memory, double cap, pl_err *err);

pl_answer pl_cap_answer(int *value, pl_cost cost, double bound, double price, int64_t work);

#endif
