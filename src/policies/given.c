/* The order as it stands, each value gone after its last reader. */
#include "evict/emit.h"
#include "policies/policy.h"

bool pl_evict_policy_given(const pl_evict_policy_ask *ask, pl_arena *out,
                           pl_evict_schedule *schedule, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict given");
    pl_evict_retain *r = pl_evict_retain_new(ask->items, ask->options->budget, tmp);
    bool ok = r->n_over == 0;
    if (ok) {
        pl_evict_play *y = pl_evict_play_new(ask->items, tmp);
        pl_evict_emit_all(r, y);
        pl_evict_play_end(y, out, schedule);
    }
    pl_arena_free(tmp);
    return ok || pl_evict_policy_refuse(ask, err);
}
