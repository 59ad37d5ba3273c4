/* policies/policy.h - the table of policies: a row each, a file each (or a file for a family). */
#ifndef PL_POLICIES_POLICY_H
#define PL_POLICIES_POLICY_H
#include "evict/items.h"
#include "policies/find.h"

typedef struct pl_evict_policy pl_evict_policy;

/* What a policy is asked for. */
typedef struct pl_evict_policy_ask {
    const pl_evict_items *items;
    const pl_evict_options *options;
    const pl_evict_policy *policy;
    pl_evict_facts facts;
    pl_arena *tmp; /* scratch, freed by who asks */
} pl_evict_policy_ask;

struct pl_evict_policy {
    const char *name, *about;
    /* Fails with PL_EINFEASIBLE: found nothing that fits; PL_EUNSUPPORTED: not for this problem. A
     * bound that it found stands in schedule->bound, else 0. */
    bool (*find)(const pl_evict_policy_ask *ask, pl_arena *out, pl_evict_schedule *schedule,
                 pl_err *err);
};

extern const pl_evict_policy pl_evict_policy_table[]; /* ends with a row without a name */

/* By name. Fails with PL_EUSAGE, naming them all. */
PL_MUST_CHECK bool pl_evict_policy_find(const char *name, const pl_evict_policy **policy,
                                        pl_err *err);

/* "'lru' found nothing that fits 12 bytes: op 7 needs the most at once, 9 bytes" */
bool pl_evict_policy_refuse(const pl_evict_policy_ask *ask, pl_err *err);

#define PL_POLICY_ROW(name)                                                                        \
    bool pl_evict_policy_##name(const pl_evict_policy_ask *ask, pl_arena *out,                     \
                                pl_evict_schedule *schedule, pl_err *err)
PL_POLICY_ROW(pleat);
PL_POLICY_ROW(given);
PL_POLICY_ROW(dtr);
PL_POLICY_ROW(delta);
PL_POLICY_ROW(checkmate);
PL_POLICY_ROW(chain);
PL_POLICY_ROW(knapsack);

#endif
