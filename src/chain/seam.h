/* chain/seam.h - so many copies like one choice, the others like another: what is between the two
 * and at both ends of the chain is searched anew.
 *
 * Splices (splice.h) take all they have from known choices. Where it takes time to go from copies
 * of one kind to copies of another, the copy between them is best like neither, and so are the
 * outside and the copies next to it. */
#ifndef PL_CHAIN_SEAM_H
#define PL_CHAIN_SEAM_H
#include "chain/pair.h"

/* Two choices to go from the first to the second, and a place: the weights of the search. */
typedef struct pl_seam {
    pl_chain_pair pair;
    const pl_chain *at_price; /* the pair's sums, mixed                                     */
    double memory_price, cap;
    const int *from, *to;
} pl_seam;

/* value[] and its cost, within the cap: the best number of copies of either kind. False: there is
 * none. Of chains of 5 copies and more. */
bool pl_chain_seam(const pl_seam *seam, const pl_search_options *options, int *value, pl_cost *cost,
                   int64_t *work);

#endif
