/* The rules of a scheduling problem: sizes and ranges of the lists, tensors, and no cycle. */
#include "order/index.h"

static bool check_list(const char *what, int n, const int at[], const int list[], int n_tasks,
                       pl_err *err)
{
    if (at[0] != 0) return pl_err_set(err, PL_EINPUT, "%s 0 starts at %d, not 0", what, at[0]);
    for (int i = 0; i < n; i++) {
        if (at[i + 1] < at[i])
            return pl_err_set(err, PL_EINPUT, "%s %d starts at %d, but ends at %d", what, i, at[i],
                              at[i + 1]);
        for (int k = at[i]; k < at[i + 1]; k++)
            if (list[k] < 0 || list[k] >= n_tasks)
                return pl_err_set(err, PL_EINPUT, "%s %d names task %d of %d", what, i, list[k],
                                  n_tasks);
    }
    return true;
}

static bool check_tensors(const pl_schedule_problem *problem, pl_arena *tmp, pl_err *err)
{
    int *seen = PL_NEW_N(tmp, int, problem->n);
    int64_t room = INT64_MAX / 4;
    for (int x = 0; x < problem->n_tensor; x++) {
        if (problem->bytes[x] < 0)
            return pl_err_set(err, PL_EINPUT, "tensor %d has %lld bytes", x,
                              (long long)problem->bytes[x]);
        if (problem->bytes[x] > room)
            return pl_err_set(err, PL_EINPUT,
                              "the tensors up to %d have more than %lld bytes together", x,
                              (long long)(INT64_MAX / 4));
        room -= problem->bytes[x];
        if (problem->ends[x] & ~(PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END))
            return pl_err_set(err, PL_EINPUT, "tensor %d has unknown ends %d", x, problem->ends[x]);
        for (int k = problem->touch_at[x]; k < problem->touch_at[x + 1]; k++) {
            if (seen[problem->touch[k]] == x + 1)
                return pl_err_set(err, PL_EINPUT, "tensor %d names task %d twice", x,
                                  problem->touch[k]);
            seen[problem->touch[k]] = x + 1;
        }
    }
    return true;
}

/* A task on a cycle: what no order reaches has a predecessor that none reaches; walking back
 * through those n times ends on a cycle. */
static int find_cycle(const pl_index *index, pl_arena *tmp)
{
    int *order = PL_NEW_N(tmp, int, index->n), *wait = PL_NEW_N(tmp, int, index->n), t = 0, n = 0;
    for (int k = 0; k < index->n; k++) {
        wait[k] = index->pred_at[k + 1] - index->pred_at[k];
        if (wait[k] == 0) order[n++] = k;
    }
    for (int i = 0; i < n; i++)
        for (int e = index->succ_at[order[i]]; e < index->succ_at[order[i] + 1]; e++)
            if (--wait[index->succ[e]] == 0) order[n++] = index->succ[e];
    if (n == index->n) return -1;
    while (wait[t] == 0) t++;
    for (int i = 0; i < index->n; i++) {
        int e = index->pred_at[t];
        while (wait[index->pred[e]] == 0) e++;
        t = index->pred[e];
    }
    return t;
}

static bool validate(const pl_schedule_problem *problem, pl_arena *tmp, pl_err *err)
{
    if (problem->n < 0 || problem->n_tensor < 0)
        return pl_err_set(err, PL_EINPUT, "there are %d tasks and %d tensors", problem->n,
                          problem->n_tensor);
    PL_TRY(check_list("the later tasks of task", problem->n, problem->edge_at, problem->edge,
                      problem->n, err));
    PL_TRY(check_list("the tasks of tensor", problem->n_tensor, problem->touch_at, problem->touch,
                      problem->n, err));
    PL_TRY(check_tensors(problem, tmp, err));
    int t = find_cycle(pl_index_make(problem, tmp), tmp);
    if (t >= 0) return pl_err_set(err, PL_EINPUT, "task %d must run before itself: a cycle", t);
    return true;
}

bool pl_schedule_validate(const pl_schedule_problem *problem, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("schedule rules");
    bool ok = validate(problem, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
