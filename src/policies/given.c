/* The order as it stands, each value gone after its last reader. */
#include "evict/emit.h"
#include "policies/policy.h"

bool pl_evict_policy_given(const pl_evict_policy_ask *ask, pl_arena *out,
                           pl_evict_schedule *schedule, pl_err *err)
{
    pl_evict_retain *r = pl_evict_retain_new(ask->items, ask->options->budget, ask->tmp);
    if (r->n_over) return pl_evict_policy_refuse(ask, err);
    pl_evict_play *y = pl_evict_play_new(ask->items, ask->tmp);
    pl_evict_emit_all(r, y);
    pl_evict_play_end(y, out, schedule);
    return true;
}
