/* chain/refit.h - parts of a choice searched anew, the rest being as it is (large neighbourhood
 * search; Shaw, CP 1998). */
#ifndef PL_CHAIN_REFIT_H
#define PL_CHAIN_REFIT_H
#include "chain/chain.h"

enum { PL_MOST_PARTS = 4, PL_PART_OUTSIDE = -1 };

/* What is searched: copies, or what stands outside, each once. */
typedef struct pl_parts {
    int n, at[PL_MOST_PARTS];
} pl_parts;

/* value[] with the best values of these parts at given weights, or as it was where none better is
 * found. Returns the work. */
int64_t pl_chain_refit(const pl_chain *chain, pl_cost weights, pl_parts parts,
                       const pl_search_options *options, int *value);

#endif
