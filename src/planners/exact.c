/* The least of all plans, with a proof: elimination of variables on the folded tables, under a
 * memory cap a search over its price (search/). "tied" is the same with equal blocks split alike,
 * which is what -O1 does; it bounds tied plans alone. */
#include "planners/list.h"

static bool run_exact(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                      pl_err *err)
{
    pl_problem mine = *problem; /* its chain changes */
    return pl_problem_min(&mine, cap, false, NULL, out, answer, err);
}

static bool run_tied(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                     pl_err *err)
{
    pl_problem mine = *problem;
    return pl_problem_min(&mine, cap, true, NULL, out, answer, err);
}

const pl_planner pl_planner_exact = { .name = "exact",
                                      .about = "the least of all plans, with a bound",
                                      .proves = true,
                                      .run = run_exact };

const pl_planner pl_planner_tied = { .name = "tied",
                                     .about = "the least of those with equal blocks split alike",
                                     .run = run_tied };
