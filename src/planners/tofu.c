/* Tofu (Wang, Huang, Li; EuroSys 2019), "partition-n-reduce": every operator and every tensor is
 * cut wherever anything can be, one axis after the other (cuts.h). "tofu+order" is ours: then the
 * axes come in the best order on each dimension. */
#include "planners/cuts.h"
#include "planners/list.h"

static bool run_tofu(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                     pl_err *err)
{
    (void)cap;
    return pl_cuts_run(&(pl_cuts){ .all = true }, problem, out, answer, err);
}

/* Where cuts in turn may not be nested otherwise, an axis takes the factor that suits the nesting:
 * so cuts are tried with it and without, and the order is chosen after both. */
static bool run_order(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                      pl_err *err)
{
    pl_answer free;
    (void)cap;
    const pl_cuts last = { .all = true, .order = true };
    const pl_cuts any = { .all = true, .order = true, .anywhere = true };
    if (!pl_cuts_run(&last, problem, out, answer, err) ||
        !pl_cuts_run(&any, problem, out, &free, err))
        return false;
    if (pl_problem_cost(problem, free.value).time < pl_problem_cost(problem, answer->value).time)
        *answer = free;
    return true;
}

const pl_planner pl_planner_tofu = {
    .name = "tofu",
    .about = "the same; each node and tensor is split where it can",
    .source = "Wang, Huang, Li; EuroSys 2019",
    .run = run_tofu,
};

const pl_planner pl_planner_tofu_order = {
    .name = "tofu+order",
    .about = "that, then the best order of axes on each dimension",
    .run = run_order,
};
