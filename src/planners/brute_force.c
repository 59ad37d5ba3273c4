/* Every plan in turn: the slow twin of the exact search, for tiny graphs. */
#include "planners/list.h"

#include <math.h>
#include <string.h>

static const double BRUTE_MOST = 2e7; /* plans; about as many table entries are read for each as it
                                         has edges */

/* Every combination in turn, as two sums of which the larger counts (pl_problem_chain). */
static bool try_all(const pl_sum sum[2], double cap, int *value, pl_cost *best, pl_arena *tmp)
{
    int n = sum[0].n, *at = PL_NEW_N(tmp, int, n + 1);
    *best = (pl_cost){ INFINITY, 0 };
    for (int v = 0; v >= 0;) {
        pl_cost c = pl_sum_cost(&sum[0], at);
        if (c.memory <= cap && c.time < best->time) {
            c.time = fmax(c.time, pl_sum_cost(&sum[1], at).time);
            if (c.time < best->time) {
                *best = c;
                if (n) memcpy(value, at, (size_t)n * sizeof *value);
            }
        }
        for (v = n - 1; v >= 0 && ++at[v] == sum[0].n_values[v]; v--) at[v] = 0;
    }
    return isfinite(best->time);
}

static bool brute(const pl_problem *problem, double cap, pl_arena *tmp, pl_arena *out,
                  pl_answer *answer, pl_err *err)
{
    const pl_chain chain[2] = { pl_problem_chain(problem, 1, tmp),
                                pl_problem_chain(problem, 0, tmp) };
    const pl_sum s[2] = { pl_chain_unroll(&chain[0], tmp), pl_chain_unroll(&chain[1], tmp) };
    double plans = 1, digits = 0;
    pl_cost cost;
    for (int v = 0; v < s->n; v++) {
        plans *= s->n_values[v];
        digits += log10(s->n_values[v]);
    }
    if (plans > BRUTE_MOST)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "%d variables have 1e%.1f combinations of values, brute force takes "
                          "%.0g at most: use exact",
                          s->n, digits, BRUTE_MOST);
    *answer = (pl_answer){ .value = PL_NEW_N(out, int, s->n + 1), .proven = true };
    answer->work = (int64_t)plans * (s->n + s->n_edges);
    if (!try_all(s, cap, answer->value, &cost, tmp))
        return pl_err_set(err, PL_EINFEASIBLE, "none of %.0f plans is legal and fits", plans);
    answer->time = answer->bound = cost.time;
    answer->memory = cost.memory;
    return true;
}

static bool run_brute(const pl_problem *problem, double cap, pl_arena *out, pl_answer *answer,
                      pl_err *err)
{
    pl_arena *tmp = pl_arena_new("brute force");
    bool ok = brute(problem, cap, tmp, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

const pl_planner pl_planner_brute_force = { .name = "bruteforce",
                                            .about = "every plan in turn: tiny graphs only",
                                            .proves = true,
                                            .run = run_brute };
