/* The judge of orders: the definition, walked naively. Uses nothing of the planner. */
#include "order/schedule.h"

static bool check_permutation(const pl_schedule_problem *problem, const int order[], int step[],
                              pl_err *err)
{
    for (int t = 0; t < problem->n; t++) step[t] = -1;
    for (int i = 0; i < problem->n; i++) {
        int t = order[i];
        if (t < 0 || t >= problem->n)
            return pl_err_set(err, PL_EMISMATCH, "step %d runs task %d of %d", i, t, problem->n);
        if (step[t] >= 0)
            return pl_err_set(err, PL_EMISMATCH, "task %d runs at step %d and at step %d", t,
                              step[t], i);
        step[t] = i;
    }
    return true;
}

static bool check_edges(const pl_schedule_problem *problem, const int step[], pl_err *err)
{
    for (int t = 0; t < problem->n; t++)
        for (int e = problem->edge_at[t]; e < problem->edge_at[t + 1]; e++)
            if (step[t] >= step[problem->edge[e]])
                return pl_err_set(err, PL_EMISMATCH,
                                  "task %d must run before task %d, but has step %d against %d", t,
                                  problem->edge[e], step[t], step[problem->edge[e]]);
    return true;
}

/* Whether tensor x lives during step i. */
static bool lives_at(const pl_schedule_problem *problem, int x, const int step[], int i)
{
    bool before = (problem->ends[x] & PL_SCHEDULE_FROM_START) != 0;
    bool after = (problem->ends[x] & PL_SCHEDULE_TO_END) != 0;
    for (int k = problem->touch_at[x]; k < problem->touch_at[x + 1]; k++) {
        before = before || step[problem->touch[k]] <= i;
        after = after || step[problem->touch[k]] >= i;
    }
    return before && after;
}

static int64_t sum_at(const pl_schedule_problem *problem, const int step[], int i)
{
    int64_t sum = 0;
    for (int x = 0; x < problem->n_tensor; x++) {
        bool idle = problem->touch_at[x] == problem->touch_at[x + 1] &&
                    problem->ends[x] != (PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END);
        if (!idle && lives_at(problem, x, step, i)) sum += problem->bytes[x];
    }
    return sum;
}

static bool check(const pl_schedule_problem *problem, const int order[], int64_t peak,
                  pl_arena *tmp, pl_err *err)
{
    int *step = PL_NEW_N(tmp, int, problem->n);
    PL_TRY(check_permutation(problem, order, step, err));
    PL_TRY(check_edges(problem, step, err));
    int64_t most = 0;
    int at = 0;
    for (int i = 0; i < problem->n; i++) {
        int64_t sum = sum_at(problem, step, i);
        if (sum > most) {
            most = sum;
            at = i;
        }
    }
    if (most != peak)
        return pl_err_set(err, PL_EMISMATCH, "the peak is %lld bytes (step %d), not %lld",
                          (long long)most, at, (long long)peak);
    return true;
}

bool pl_schedule_check(const pl_schedule_problem *problem, const int order[], int64_t peak,
                       pl_err *err)
{
    pl_arena *tmp = pl_arena_new("schedule check");
    bool ok = check(problem, order, peak, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
