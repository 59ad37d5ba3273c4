/* search/mix.h - choices under a memory cap that no price of memory finds.
 *
 * With memory at a price, all that is found lies on the convex hull of (memory, time). Between two
 * of its corners, one too large and one that leaves memory unused, are mixtures: this layer like
 * the one, that layer like the other. Pareto fronts (front.h) of what is near the bound at that
 * price hold them all. */
#ifndef PL_SEARCH_MIX_H
#define PL_SEARCH_MIX_H
#include "search/solve.h"

typedef struct pl_mix {
    double price, cap;          /* time per unit of memory at which the bound is best            */
    const pl_search_options *options;
    int *value;                 /* the best choice within the cap so far; improved               */
    pl_cost cost;
    double bound;               /* of the time of choices within the cap; raised                 */
    int front;                  /* labels kept per entry                                         */
    double most, labels;        /* entries and labels that an elimination may make               */
    double entries;             /* that it would make                                            */
    bool stopped;               /* it was too much                                               */
    int64_t work;
} pl_mix;

/* Compares all choices of a net of the sum, which has weights (1, price) and memory. False: that
 * was too much work, or fronts were thinned. */
bool pl_mix_net(const pl_sum *sum, const pl_net *net, pl_mix *mix, pl_arena *out);

#endif
