/* planners/tapas.h - patterns for the weights of a block, every combination of them. */
#ifndef PL_PLANNERS_TAPAS_H
#define PL_PLANNERS_TAPAS_H
#include "search/search.h"
#include "cost/problem.h"

typedef struct pl_tapas_patterns {
    int weights;       /* nodes of a block that have patterns                                    */
    double candidates; /* their combinations                                                     */
    int64_t tried;     /* searches for all else under a combination, or the first part of one    */
    int64_t valid;     /* combinations under which all else has a way                            */
} pl_tapas_patterns;

/* Every combination without pruning: how many there are, and how many have a way through. Fails
 * with PL_EUNSUPPORTED above 10,000. */
PL_MUST_CHECK bool pl_tapas_count(const pl_problem *problem, pl_tapas_patterns *out,
                                           pl_err *err);

#endif
