/* search/cap.h - the fastest choice within a memory cap, by the price of memory.
 *
 * For any price >= 0 the least of time + price * (memory - cap) is a lower bound of the time within
 * the cap (Lagrangian relaxation). The price that makes it largest is found where a choice that is
 * too large and one that fits cost the same; each new price is where the lines of the last two meet
 * (Handler and Zang, Networks 1980).
 *
 * What gap is left comes from choices that lie between those two and that no price finds. In a
 * chain (cap_chain.c) mixtures are looked for (mix.h); the price comes from the tied chain, whose
 * best price is about the same. In a sum (cap_sum.c) the gap is closed by branching: the
 * two differ in some variable, and among the choices that have the value of the one, or of the
 * other, or neither, there is a better price, and values that cannot be in a better choice go. A
 * part that has become small is eliminated with Pareto fronts. The part with the least bound is
 * next, so the bound of what is left is the bound of the answer, also when a limit stops the
 * search.
 *
 * The least memory of any choice comes first: passes find it soon, and above the cap it ends the
 * search. */
#ifndef PL_SEARCH_CAP_H
#define PL_SEARCH_CAP_H
#include "search/chain.h"
#include "search/branch.h"

/* As pl_search_min and pl_chain_min; options with their defaults written out. The chain is folded;
 * `start`, unless NULL, is a known choice of it. */
PL_MUST_CHECK bool pl_cap_sum(const pl_sum *s, double cap, const pl_search_options *o,
                              pl_arena *out, pl_answer *answer, pl_err *err);

/* Two choices of a sum between whose prices the cap lies, without branching. */
typedef struct pl_sides {
    pl_solution over, under, best; /* too large, fits; the fastest that fits                     */
    double price;               /* of memory where the bound is largest                          */
    int64_t work;
} pl_sides;

/* False: nothing that fits was found. */
bool pl_cap_look(const pl_sum *s, double cap, const pl_search_options *o, pl_arena *out,
                 pl_sides *sides);

/* What solves a folded chain at a price, each price from the potentials of the last. */
typedef struct pl_capped {
    const pl_chain *chain;
    void *self;
    pl_elimination (*solve)(void *self, pl_cost weights, const pl_search_options *o, pl_arena *out);
    const struct pl_ring *(*potentials)(const void *self); /* of the last price; may be NULL      */
} pl_capped;

PL_MUST_CHECK bool pl_cap_chain(const pl_capped *p, double cap, const pl_search_options *o,
                                pl_arena *out, pl_answer *answer, pl_err *err);

/* Fails with PL_EINFEASIBLE when no choice was found; when what was found to take the least memory
 * does not fit. */
PL_MUST_CHECK bool pl_cap_legal(const pl_elimination *f, pl_err *err);
PL_MUST_CHECK bool pl_cap_fits(const pl_elimination *f, double memory, double cap, pl_err *err);

pl_answer pl_cap_answer(int *value, pl_cost cost, double bound, double price, int64_t work);

#endif
