/* Alpa (Zheng et al., OSDI 2022): pipelines of 1, 2, 4, ... stages, the layout of each the least of
 * its cost model; the one whose step is shortest is taken (train/pipelines.h asks for each).
 *
 * Other than published:
 *   - stages have equally many devices: its own search also gives them submeshes of other shapes;
 *   - the layout is one for all stages, the exact search's (exact.c): for an integer program's; and
 *     its tables count computing and memory, where Alpa's count messages;
 *   - stages are cut where the longest is shortest, which is the aim of its dynamic program, too;
 *   - the number of micro-batches, there part of the question, is the smallest of at least four for
 *     each stage that divides the batch; the schedule is 1F1B. */
#include "planners/list.h"

static bool run(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                pl_err *err)
{
    return pl_planner_exact.run(problem, cap, out, answer, err);
}

static int count_micro(int stages)
{
    enum { FOR_EACH = 4 };
    return FOR_EACH * stages;
}

const pl_planner pl_planner_alpa = {
    .name = "alpa",
    .about = "the least within stages, in 1, 2, 4, ... stages",
    .source = "Zheng et al., OSDI 2022",
    .run = run,
    .schedule = "1f1b",
    .micro = count_micro,
};
