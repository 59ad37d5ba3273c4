/* Checkmate (Jain et al., MLSys 2020): recompute for a fixed order. Exact where exact.c ends within
 * the effort; else the covering program of bound.c is solved and rounded: what costs less to make
 * again than the memory it takes is worth is dropped, at some thresholds, what is missing is made
 * again as late as it is read, and the fastest that fits stays. */
#include "evict/bound.h"
#include "evict/emit.h"
#include "evict/exact.h"
#include "evict/improve.h"
#include "policies/policy.h"

enum { DEFAULT_STATES = 200000, ROUNDS = 2000 };

static const double thresholds[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.5, 2 };

static void round_prices(pl_evict_retain *r, const double sum[], double threshold)
{
    for (int i = r->items->n_item - 1; i >= 0; i--) {
        const pl_evict_item *m = &r->items->item[i];
        for (int k = r->uses[i].n - 1; k >= 1 && m->again; k--) {
            int from = r->uses[i].at[k - 1].stage, to = r->uses[i].at[k].stage;
            if (to > r->items->n_op || from + 1 >= to) continue;
            double worth = (double)m->bytes * (sum[to] - sum[from + 1]);
            if (worth > threshold * m->again_seconds)
                (void)pl_evict_retain_change(r, i, k, PL_RETAIN_AGAIN, 0, 0);
        }
    }
    pl_evict_retain_accept(r);
}

static bool round_all(const pl_evict_policy_ask *ask, const pl_evict_bound *b, pl_evict_play *best)
{
    pl_arena *tmp = ask->tmp;
    int n = ask->items->n_op;
    pl_evict_retain *r = pl_evict_retain_new(ask->items, ask->options->budget, tmp);
    const pl_evict_retain_saved *start = pl_evict_retain_save(r, tmp);
    pl_evict_improve *v = pl_evict_improve_new(r, b->price, 1, tmp);
    double *sum = PL_NEW_N(tmp, double, n + 2), least = 0;
    bool found = false;
    for (int t = 0; t < n; t++) sum[t + 1] = sum[t] + b->price[t];
    for (size_t k = 0; k < sizeof thresholds / sizeof *thresholds; k++) {
        pl_evict_retain_load(r, start);
        round_prices(r, sum, thresholds[k]);
        if (!pl_evict_improve_fit(v, 0) || (found && r->cost >= least)) continue;
        found = true;
        least = r->cost;
        pl_evict_emit_all(r, best);
    }
    return found;
}

bool pl_evict_policy_checkmate(const pl_evict_policy_ask *ask, pl_arena *out,
                               pl_evict_schedule *schedule, pl_err *err)
{
    const pl_evict_options *o = ask->options;
    pl_evict_play *y = pl_evict_play_new(ask->items, ask->tmp);
    int64_t most = o->effort > 0 ? o->effort : DEFAULT_STATES;
    pl_evict_exact_result result = pl_evict_exact_find(ask->items, o->budget, most, y);
    if (result == PL_EXACT_NONE)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "no schedule fits %lld bytes; op %d needs the most at once, %lld",
                          (long long)o->budget, ask->facts.need_op, (long long)ask->facts.need);
    pl_evict_bound b = pl_evict_bound_find(ask->items, o->budget, true, false, ROUNDS, ask->tmp);
    if (result == PL_EXACT_TOO_LARGE && !round_all(ask, &b, y))
        return pl_evict_policy_refuse(ask, err);
    pl_evict_play_end(y, out, schedule);
    const bool link = ask->items->problem->out_bytes_per_s > 0,
               exact = result == PL_EXACT_FOUND && !link;
    schedule->bound = exact ? schedule->seconds : link ? 0 : b.seconds;
    schedule->optimal = exact;
    return true;
}
