/* The one entry: checks the problem, asks a policy, adds the bound. */
#include "policies/find.h"

#include "evict/bound.h"
#include "policies/policy.h"

#include <stdlib.h>
#include <string.h>

enum { BOUND_ROUNDS = 1500, LINK_ROUNDS = 300 }; /* with a link, for each weight of its lanes */

static bool can_fit(const pl_evict_policy_ask *ask, pl_err *err)
{
    if (ask->facts.need <= ask->options->budget) return true;
    return pl_err_set(err, PL_EINFEASIBLE,
                      "op %d needs %lld bytes at once, of a budget of %lld: no schedule fits",
                      ask->facts.need_op, (long long)ask->facts.need,
                      (long long)ask->options->budget);
}

static bool prepare(const pl_evict_problem *problem, const pl_evict_options *options, pl_arena *tmp,
                    pl_evict_policy_ask *ask, pl_err *err)
{
    PL_TRY(pl_evict_validate(problem, err));
    *ask = (pl_evict_policy_ask){ .options = options, .tmp = tmp };
    PL_TRY(pl_evict_policy_find(options->policy ? options->policy : "pleat", &ask->policy, err));
    if (options->budget < 0 || options->effort < 0)
        return pl_err_set(err, PL_EINPUT, "a budget of %lld bytes and an effort of %lld steps",
                          (long long)options->budget, (long long)options->effort);
    ask->items = pl_evict_items_new(problem, tmp);
    ask->facts = pl_evict_measure(problem);
    return true;
}

static void add_bound(const pl_evict_policy_ask *ask, pl_evict_schedule *s)
{
    const pl_evict_options *o = ask->options;
    bool link = ask->items->problem->out_bytes_per_s > 0 && !o->no_copies;
    if (s->bound == 0)
        s->bound = pl_evict_bound_find(ask->items, o->budget, !o->no_recompute, !o->no_copies,
                                       link ? LINK_ROUNDS : BOUND_ROUNDS, ask->tmp)
                       .seconds;
    if (s->bound > s->seconds) s->bound = s->seconds; /* by rounding alone */
    s->optimal = s->optimal || s->seconds <= s->bound * (1 + 1e-9);
}

static bool find(const pl_evict_problem *problem, const pl_evict_options *options, pl_arena *tmp,
                 pl_arena *out, pl_evict_schedule *schedule, pl_err *err)
{
    pl_evict_policy_ask ask;
    PL_TRY(prepare(problem, options, tmp, &ask, err));
    PL_TRY(can_fit(&ask, err));
    PL_TRY(ask.policy->find(&ask, out, schedule, err));
    PL_ASSERT(schedule->peak <= options->budget);
    add_bound(&ask, schedule);
    return true;
}

bool pl_evict_find(const pl_evict_problem *problem, const pl_evict_options *options, pl_arena *out,
                   pl_evict_schedule *schedule, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict");
    *schedule = (pl_evict_schedule){ 0 };
    bool ok = find(problem, options, tmp, out, schedule, err);
    pl_arena_free(tmp);
    return ok;
}

static int compare_budgets(const void *a, const void *b)
{
    const int64_t *const *p = a, *const *q = b;
    return (**p > **q) - (**p < **q);
}

/* From the smallest budget up: what was best so far stays where the policy finds nothing faster. */
static bool sweep(const pl_evict_problem *problem, const pl_evict_options *options, int n,
                  const int64_t budget[], pl_arena *tmp, pl_arena *out,
                  pl_evict_schedule schedule[], pl_err *err)
{
    const int64_t **sorted = PL_NEW_N(tmp, const int64_t *, n);
    pl_evict_schedule best = { 0 };
    for (int k = 0; k < n; k++) sorted[k] = &budget[k];
    if (n > 0) qsort(sorted, (size_t)n, sizeof *sorted, compare_budgets);
    for (int k = 0; k < n; k++) {
        pl_evict_schedule *s = &schedule[sorted[k] - budget], found;
        pl_evict_options o = *options;
        pl_err miss = { 0 };
        o.budget = *sorted[k];
        bool ok = pl_evict_find(problem, &o, out, &found, &miss);
        if (!ok && miss.code != PL_EINFEASIBLE) return pl_err_set(err, miss.code, "%s", miss.msg);
        double bound = ok ? found.bound : 0;
        if (ok && (best.n == 0 || found.seconds < best.seconds)) best = found;
        *s = best;
        if (!ok) s->bound = 0, s->optimal = false; /* that of a smaller budget may be above it */
        if (ok && bound < s->bound) {
            s->bound = bound;
            s->optimal = s->seconds <= bound * (1 + 1e-9);
        }
    }
    return true;
}

bool pl_evict_sweep(const pl_evict_problem *problem, const pl_evict_options *options, int n,
                    const int64_t budget[], pl_arena *out, pl_evict_schedule schedule[],
                    pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict sweep");
    bool ok = sweep(problem, options, n, budget, tmp, out, schedule, err);
    pl_arena_free(tmp);
    return ok;
}
