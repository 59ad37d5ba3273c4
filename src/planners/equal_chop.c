/* EqualChop, of section 7 of Tofu's paper: as Tofu, but a tensor is cut over one dimension, all
 * devices at once. */
#include "planners/list.h"
#include "planners/rules.h"

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    pl_arena *tmp = pl_arena_new("equal chop");
    pl_space s = pl_rules_one_dimension(problem, tmp);
    (void)cap;
    bool ok = pl_space_min(&s, PL_SPACE_MESSAGES, false, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

const pl_planner pl_planner_equal_chop = {
    .name = "equalchop",
    .about = "the least messages, a tensor split over one dimension",
    .source = "as in Wang, Huang, Li; EuroSys 2019",
    .run = run,
};
