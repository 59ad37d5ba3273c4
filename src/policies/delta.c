/* DELTA (Tang et al., ACM TACO 2024; arXiv 2203.15980): which storage by 1 / (bytes x staleness),
 * and whether it is made again or goes to the host by seconds against seconds: made again iff the
 * copy out and in takes longer than its maker. The authors' public code compares microseconds with
 * nanoseconds there, so that it copies nearly always (is_quicker_made in a test has both). */
#include "policies/delta.h"

#include "policies/online.h"
#include "policies/policy.h"

#include <math.h>

bool pl_evict_delta_makes(double bytes, double bytes_per_s, double maker_seconds)
{
    return 2 * bytes / bytes_per_s > maker_seconds;
}

static double score(pl_evict_online *o, int i)
{
    double under = (double)o->items->item[i].bytes * (o->play->now - o->accessed[i]);
    return under > 0 ? 1 / under : INFINITY;
}

static bool goes_to_host(pl_evict_online *o, int i)
{
    const pl_evict_item *m = &o->items->item[i];
    const pl_evict_problem *p = o->items->problem;
    if (o->play->copied[i] || !m->again) return true;
    double rate = 2 / (1 / p->out_bytes_per_s + 1 / p->in_bytes_per_s);
    return !pl_evict_delta_makes((double)m->bytes, rate, p->seconds[m->born]);
}

/* 1 % of the mean size and 5 storages: constants of its code (CheckpointPool::evict,
 * prefetch_count). */
static const pl_evict_online_rule rule = {
    .score = score, .to_host = goes_to_host, .spared = 0.01, .prefetch = 5
};

bool pl_evict_policy_delta(const pl_evict_policy_ask *ask, pl_arena *out,
                           pl_evict_schedule *schedule, pl_err *err)
{
    if (ask->items->problem->out_bytes_per_s <= 0)
        return pl_err_set(err, PL_EUNSUPPORTED, "'delta' copies to the host: give a link");
    return pl_evict_online_play(ask->items, ask->options->budget, &rule, out, schedule) ||
           pl_evict_policy_refuse(ask, err);
}
