/* search/cap.h - the fastest choice within a memory cap, by the price of memory.
 *
 * For any price >= 0 the least of time + price * (memory - cap) is a lower bound of the time within
 * the cap (Lagrangian relaxation). The price that makes it largest is found where a choice that is
 * too large and one that fits cost the same; each new price is where the lines of the last two meet
 * (Handler and Zang, Networks 1980). Mixtures (mix.h) close the gap that is left. */
#ifndef PL_SEARCH_CAP_H
#define PL_SEARCH_CAP_H
#include "search/mix.h"
#include "search/solve.h"

enum { PL_CAP_KNOWN = 8 };

/* What is solved: a sum or a chain, behind the same three functions. */
typedef struct pl_capped {
    void *self;
    pl_found (*solve)(void *self, pl_cost weights, const pl_search_options *o, pl_arena *out);
    pl_cost (*cost)(const void *self, const int *value);
    void (*mix)(void *self, int n_known, int *const *known, pl_mix *m, pl_arena *out);
} pl_capped;

/* As pl_search_min, options with their defaults written out. */
PL_MUST_CHECK bool pl_cap_min(const pl_capped *p, double cap, const pl_search_options *o,
                              pl_arena *out, pl_answer *answer, pl_err *err);

#endif
