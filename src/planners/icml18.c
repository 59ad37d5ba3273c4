/* ICML18 is what section 7 of Tofu's paper makes of Jia et al., "Exploring hidden dimensions in
 * parallelizing convolutional neural networks" (ICML 2018): Tofu without output reduction, so that
 * no factor is cut that an operator sums over, where it has another one (cuts.h). */
#include "planners/cuts.h"
#include "planners/list.h"

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    (void)cap;
    return pl_cuts_run(&(pl_cuts){ .all = true, .unsummed = true }, problem, out, answer, err);
}

const pl_planner pl_planner_icml18 = { .name = "icml18",
                                       .about = "as tofu, but nothing is split that is summed",
                                       .source = "Jia et al., ICML 2018",
                                       .run = run };
