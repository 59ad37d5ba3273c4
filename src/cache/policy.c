/* Who goes: a row of the table at the end each. What a row is worth is compared within one cache
 * alone. */
#include "cache/cache.h"

#include <string.h>

/* How often the row is in the data: in the long run nothing is better where what is read does not
 * change. */
static double by_data(const pl_cache *c, int32_t slot)
{
    const int32_t row = c->at[slot].row;
    return c->counts ? (double)c->counts[row] : -(double)row;
}

static double by_uses(const pl_cache *c, int32_t slot)
{
    return (double)c->at[slot].uses;
}

static double by_last_use(const pl_cache *c, int32_t slot)
{
    return (double)c->at[slot].batch;
}

/* Belady's rule as far as batches are known: whose next use is last goes first. Before all go those
 * without one, the coldest first: of the two that forget nothing, or all but the last use, the one
 * is worse where what is read changes, the other where it does not. */
static double by_next_use(const pl_cache *c, int32_t slot)
{
    const struct pl_cache_place *p = &c->at[slot];
    return p->next < INT32_MAX ? 0x1p40 - p->next : (double)pl_cache_heat(c, p);
}

const pl_cache_policy *const pl_cache_policies[] = {
    &(const pl_cache_policy){ "dataset", "rows stay that the data have most often", false,
                              by_data },
    &(const pl_cache_policy){ "lfu", "rows stay that were read most since they came", false,
                              by_uses },
    &(const pl_cache_policy){ "lru", "rows stay that were read last", false, by_last_use },
    &(const pl_cache_policy){ "lookahead", "rows stay that the next batches read first (Belady)",
                              true, by_next_use },
    NULL,
};

const pl_cache_policy *pl_cache_policy_find(const char *name)
{
    for (int i = 0; pl_cache_policies[i]; i++)
        if (!strcmp(pl_cache_policies[i]->name, name)) return pl_cache_policies[i];
    return NULL;
}
