/* cost/text.h - a cost problem as text, and back: a search can be repeated without the model.
 *
 * The text is that of its chain (chain/text.h) with computing and messages in full, and then
 *
 *     nodes outside 0 2 5             variables that compute
 *     nodes block 0 1
 *     hides first 3 1 0.0025          of edge 3 of a list, the share that passes beside computing,
 *     ...                             and at most so many seconds (pl_edge)
 *
 * Numbers are exact: what is parsed is searched with the same steps, and prints the same. */
#ifndef PL_COST_TEXT_H
#define PL_COST_TEXT_H
#include "base/text.h"
#include "cost/problem.h"

void pl_problem_print(const pl_problem *problem, pl_text *out);

/* A problem without graph, mesh and domains: for pl_problem_min, _least, _chain and _cost. Fails
 * with PL_EINPUT, naming the line. `arena` owns it. */
PL_MUST_CHECK bool pl_problem_parse(const char *text, pl_arena *arena, pl_problem **out,
                                    pl_err *err);

#endif
