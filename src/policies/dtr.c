/* DTR and what it was compared with: one row of rules each (Kirisame et al., "Dynamic Tensor
 * Rematerialization", ICLR 2021). Staleness is seconds since the last read. */
#include "policies/online.h"
#include "policies/policy.h"

#include <math.h>
#include <string.h>

static double divide(double over, double under)
{
    return under > 0 ? over / under : INFINITY;
}

static double bytes(const pl_evict_online *o, int item)
{
    return (double)o->items->item[item].bytes;
}

static double staleness(const pl_evict_online *o, int item)
{
    return o->play->now - o->accessed[item];
}

static double score_dtr(pl_evict_online *o, int i)
{
    double cost = o->compute[i] + pl_evict_online_before(o, i) + pl_evict_online_after(o, i);
    return divide(cost, bytes(o, i) * staleness(o, i));
}

static double score_class(pl_evict_online *o, int i)
{
    return divide(o->compute[i] + pl_evict_online_class(o, i), bytes(o, i) * staleness(o, i));
}

static double score_local(pl_evict_online *o, int i)
{
    return divide(o->compute[i], bytes(o, i) * staleness(o, i));
}

static double score_msps(pl_evict_online *o, int i)
{
    return divide(o->compute[i] + pl_evict_online_before(o, i), bytes(o, i));
}

static double score_lru(pl_evict_online *o, int i)
{
    return o->accessed[i];
}

static double score_size(pl_evict_online *o, int i)
{
    return divide(1, bytes(o, i));
}

static double score_stale(pl_evict_online *o, int i)
{
    return divide(1, bytes(o, i) * staleness(o, i));
}

static const struct {
    const char *name;
    pl_evict_online_rule rule;
} rules[] = {
    { "dtr", { .score = score_dtr } },         { "dtr-eq", { .score = score_class } },
    { "dtr-local", { .score = score_local } }, { "msps", { .score = score_msps } },
    { "lru", { .score = score_lru } },         { "size", { .score = score_size } },
    { "stale", { .score = score_stale } },
};

bool pl_evict_policy_dtr(const pl_evict_policy_ask *ask, pl_arena *out, pl_evict_schedule *schedule,
                         pl_err *err)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!strcmp(rules[k].name, ask->policy->name))
            return pl_evict_online_play(ask->items, ask->options->budget, &rules[k].rule, out,
                                        schedule) ||
                   pl_evict_policy_refuse(ask, err);
    return pl_err_set(err, PL_EINTERNAL, "no rule is called '%s'", ask->policy->name);
}
