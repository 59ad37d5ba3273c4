/* SoyBean (Wang, Huang, Li; arXiv:1805.04170), with k-cuts on each axis of the mesh (cuts.h). It
 * may store copies, but products have to be cut: with computing left out of the objective a graph
 * of copies would be the best of all. */
#include "planners/cuts.h"
#include "planners/list.h"

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    (void)cap;
    return pl_cuts_run(&(pl_cuts){ .all = false }, problem, out, answer, err);
}

const pl_planner pl_planner_soybean = { .name = "soybean",
                                        .about = "the least messages, one axis after the other",
                                        .source = "Wang, Huang, Li; arXiv:1805.04170",
                                        .run = run };
