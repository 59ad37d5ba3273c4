/* The order as it stands, each value gone after its last reader. */
#include "evict/emit.h"
#include "evict/policy.h"

bool pl_policy_given(const pl_policy_ask *ask, pl_arena *out, pl_evict_schedule *schedule,
                     pl_err *err)
{
    pl_arena *tmp = pl_arena_new("evict given");
    pl_retain *r = pl_retain_new(ask->items, ask->options->budget, tmp);
    bool ok = r->n_over == 0;
    if (ok) {
        pl_play *y = pl_play_new(ask->items, tmp);
        pl_emit_all(r, y);
        pl_play_end(y, out, schedule);
    }
    pl_arena_free(tmp);
    return ok || pl_policy_refuse(ask, err);
}
