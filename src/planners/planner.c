/* Finding a search by name, and running it: what it proves nothing about gets no bound. */
#include "planners/planner.h"

#include <math.h>
#include <string.h>

bool pl_planner_find(const char *name, const pl_planner **out, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("searches");
    pl_text names = { .arena = tmp };
    *out = NULL;
    for (int i = 0; pl_planners[i]; i++) {
        pl_text_add(&names, "%s%s", i ? ", " : "", pl_planners[i]->name);
        if (!strcmp(pl_planners[i]->name, name)) *out = pl_planners[i];
    }
    if (!*out)
        pl_err_set(err, PL_EUSAGE, "there is no search '%s'; there are: %s", name,
                   pl_text_get(&names));
    pl_arena_free(tmp);
    return *out != NULL;
}

bool pl_planner_run(const pl_planner *b, const pl_problem *problem, double cap, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    if (!b->run(problem, cap, out, answer, err)) return pl_err_in(err, "search %s", b->name);
    if (b->proves) return true;
    pl_cost cost = pl_problem_cost(problem, answer->value);
    answer->time = cost.time, answer->memory = cost.memory;
    answer->bound = 0, answer->proven = false, answer->price = 0;
    if (!isfinite(cost.time))
        return pl_err_set(err, PL_EINFEASIBLE, "search %s: found no legal plan", b->name);
    if (cost.memory > cap)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "search %s: its plan takes %.0f bytes of a device, %.0f may be taken (it "
                          "does not look at memory)",
                          b->name, cost.memory, cap);
    return true;
}
