/* planners/greedy.h - the largest tensors first, each cut over the one dimension that is
 * cheapest there and then: Spartan, as Tofu's authors compare with it. */
#ifndef PL_PLANNERS_GREEDY_H
#define PL_PLANNERS_GREEDY_H
#include "planners/space.h"

/* What EqualChop, Spartan and AllRow-Greedy choose from: one factor or dimension over all devices,
 * and something wherever anything can be split. */
pl_baseline_space pl_baseline_greedy_space(const pl_tables *t, pl_arena *arena);

/* A method of planners/planner.h. */
PL_MUST_CHECK bool pl_baseline_greedy(const pl_tables *t, double cap, pl_arena *out,
                                      pl_answer *answer, pl_err *err);

#endif
