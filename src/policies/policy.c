/* The table of policies. */
#include "policies/policy.h"

#include "base/text.h"

#include <string.h>

const pl_evict_policy pl_evict_policy_table[] = {
    { "pleat", "ours: recompute and copies together, offline", pl_evict_policy_pleat },
    { "given", "the order as it stands: nothing is made again or copied", pl_evict_policy_given },
    { "dtr", "DTR, exact neighbourhood: seconds of it / (bytes x staleness)", pl_evict_policy_dtr },
    { "dtr-eq", "DTR, classes of gone neighbours", pl_evict_policy_dtr },
    { "dtr-local", "DTR, its own seconds alone", pl_evict_policy_dtr },
    { "msps", "seconds of what has to be made again before / bytes", pl_evict_policy_dtr },
    { "lru", "the least recently read", pl_evict_policy_dtr },
    { "size", "the largest", pl_evict_policy_dtr },
    { "stale", "1 / (bytes x staleness): DELTA's filter", pl_evict_policy_dtr },
    { "delta", "DELTA: filter, recompute or copy, prefetch", pl_evict_policy_delta },
    { "checkmate", "exact where small, else linear program and rounding",
      pl_evict_policy_checkmate },
    { "chain", "optimal for a chain of forward and backward ops", pl_evict_policy_chain },
    { "knapsack", "saved values at the peak by 0/1 knapsack, as in torch",
      pl_evict_policy_knapsack },
    { 0 },
};

bool pl_evict_policy_find(const char *name, const pl_evict_policy **policy, pl_err *err)
{
    *policy = NULL;
    for (const pl_evict_policy *row = pl_evict_policy_table; row->name; row++)
        if (!strcmp(row->name, name)) *policy = row;
    if (*policy) return true;
    pl_arena *tmp = pl_arena_new("policies");
    pl_text names = { .arena = tmp };
    for (const pl_evict_policy *row = pl_evict_policy_table; row->name; row++)
        pl_text_add(&names, "%s%s", names.n ? ", " : "", row->name);
    pl_err_set(err, PL_EUSAGE, "there is no eviction policy '%s'; there are: %s", name,
               pl_text_get(&names));
    pl_arena_free(tmp);
    return false;
}

bool pl_evict_policy_refuse(const pl_evict_policy_ask *ask, pl_err *err)
{
    return pl_err_set(err, PL_EINFEASIBLE,
                      "'%s' found nothing that fits %lld bytes: op %d needs the most at once, %lld",
                      ask->policy->name, (long long)ask->options->budget, ask->facts.need_op,
                      (long long)ask->facts.need);
}
