/* chain/pair.h - a chain whose time is the larger of two sums: its fastest choice within a cap.
 *
 * For every price p in [0, 1] of the one sum against the other and every price m of memory, the
 * least of
 *
 *   p sum[0] + (1 - p) sum[1] + m (memory - cap)
 *
 * is a bound. Answers at such prices are planes over (p, m), and the highest point under those
 * known is where to look next (top.h). The answers that meet there lie around the best one: of many
 * copies, so many like this and so many like that come near it (splice.h). With few copies the cap
 * is searched among all mixtures of them (among.h); with small tables, or tied copies, among all
 * choices (search/cap.h). */
#ifndef PL_CHAIN_PAIR_H
#define PL_CHAIN_PAIR_H
#include "chain/chain.h"

/* The same chain but for the times in its tables. One sum may be given twice. */
typedef struct pl_chain_pair {
    const pl_chain *sum[2];
} pl_chain_pair;

/* The larger time, and the memory. */
pl_cost pl_chain_pair_cost(pl_chain_pair pair, const int *value);

/* What a search found before it looked at its cap, which is all the same below another one. */
typedef struct pl_chain_opened pl_chain_opened;

/* The same of a chain that has one more variable outside and in every copy, each the last there;
 * more[outside, copies]: where these have that value all costs what it did, and no other value
 * makes less of either time (-1: there is none). `chain` is without them. */
pl_chain_opened *pl_chain_opened_more(const pl_chain_opened *from, const pl_chain *chain,
                                      const int more[2], pl_arena *out);

/* As pl_chain_min, or with `tied` as pl_chain_tied. *price, unless NULL, is p where the bound was
 * found. The options' effort is of all prices together, their gap counts at the end.
 *
 * Of several searches of one pair with the same options, but for the cap, only the first looks
 * without it: *opened, NULL then, is handed from each to the next, and `out` owns it. With `opened`
 * NULL there is one search. */
PL_MUST_CHECK bool pl_chain_pair_min(pl_chain_pair pair, double cap, bool tied,
                                     const pl_search_options *options, pl_chain_opened **opened,
                                     pl_arena *out, pl_answer *answer, double *price, pl_err *err);

/* Copies so many that a cap is met by splices of them. */
enum { PL_MANY_COPIES = 6 };

#endif
