/* AllRow-Greedy, of section 7 of Tofu's paper: every tensor is cut over its first dimension where
 * that can be (else over another one), and each operator takes what moves least. What little is
 * left to choose is chosen by the exact search, not operator by operator. */
#include "planners/list.h"
#include "planners/rules.h"

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    pl_arena *tmp = pl_arena_new("all rows");
    pl_space s = pl_rules_one_dimension(problem, tmp);
    (void)cap;
    for (int v = 0; v < s.n; v++) pl_space_prefer(&s, v, pl_rules_rows, NULL);
    bool ok = pl_space_min(&s, PL_SPACE_MESSAGES, false, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

const pl_planner pl_planner_all_row = { .name = "allrow",
                                        .about = "everything over its first dimension",
                                        .source = "as in Wang, Huang, Li; EuroSys 2019",
                                        .run = run };
