/* The judge of orders: the definition, walked naively. Uses nothing of the planner. */
#include "order/schedule.h"

static bool check_permutation(const pl_schedule_problem *p, const int order[], int step[],
                              pl_err *err)
{
    for (int t = 0; t < p->n; t++) step[t] = -1;
    for (int i = 0; i < p->n; i++) {
        int t = order[i];
        if (t < 0 || t >= p->n)
            return pl_err_set(err, PL_EMISMATCH, "step %d runs task %d of %d", i, t, p->n);
        if (step[t] >= 0)
            return pl_err_set(err, PL_EMISMATCH, "task %d runs at step %d and at step %d", t,
                              step[t], i);
        step[t] = i;
    }
    return true;
}

static bool check_edges(const pl_schedule_problem *p, const int step[], pl_err *err)
{
    for (int t = 0; t < p->n; t++)
        for (int e = p->edge_at[t]; e < p->edge_at[t + 1]; e++)
            if (step[t] >= step[p->edge[e]])
                return pl_err_set(err, PL_EMISMATCH,
                                  "task %d must run before task %d, but has step %d against %d", t,
                                  p->edge[e], step[t], step[p->edge[e]]);
    return true;
}

/* Whether tensor x lives during step i. */
static bool lives_at(const pl_schedule_problem *p, int x, const int step[], int i)
{
    bool before = (p->ends[x] & PL_SCHEDULE_FROM_START) != 0;
    bool after = (p->ends[x] & PL_SCHEDULE_TO_END) != 0;
    for (int k = p->touch_at[x]; k < p->touch_at[x + 1]; k++) {
        before = before || step[p->touch[k]] <= i;
        after = after || step[p->touch[k]] >= i;
    }
    return before && after;
}

static int64_t sum_at(const pl_schedule_problem *p, const int step[], int i)
{
    int64_t sum = 0;
    for (int x = 0; x < p->n_tensor; x++) {
        bool idle = p->touch_at[x] == p->touch_at[x + 1] &&
                    p->ends[x] != (PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END);
        if (!idle && lives_at(p, x, step, i)) sum += p->bytes[x];
    }
    return sum;
}

static bool check(const pl_schedule_problem *p, const int order[], int64_t peak, pl_arena *tmp,
                  pl_err *err)
{
    int *step = PL_NEW_N(tmp, int, p->n);
    PL_TRY(check_permutation(p, order, step, err));
    PL_TRY(check_edges(p, step, err));
    int64_t most = 0;
    int at = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t sum = sum_at(p, step, i);
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

bool pl_schedule_check(const pl_schedule_problem *p, const int order[], int64_t peak, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("schedule check");
    bool ok = check(p, order, peak, tmp, err);
    pl_arena_free(tmp);
    return ok;
}
