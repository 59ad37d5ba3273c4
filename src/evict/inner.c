/* The runs of a stage in their order: what came in stays until its last run there, unless it is
 * kept on; what a run makes and nobody wants goes when the run ends. */
#include "evict/inner.h"

#include "evict/retain_log.h"

struct pl_evict_inner {
    bool *touched; /* [n_op + 1] */
    int *list, n;
    int stamp, *seen; /* [n_item] the rest holds where it is the stamp                           */
    int *last;        /* [n_item] run of the stage, counted from 0, that reads it last            */
    bool *stays;      /* [n_item] after the stage                                                 */
};

pl_evict_inner *pl_evict_inner_new(const pl_evict_items *items, pl_arena *arena)
{
    pl_evict_inner *w = PL_NEW(arena, pl_evict_inner);
    w->touched = PL_NEW_N(arena, bool, items->n_op + 1);
    w->list = PL_NEW_N(arena, int, items->n_op + 1);
    w->seen = PL_NEW_N(arena, int, items->n_item);
    w->last = PL_NEW_N(arena, int, items->n_item);
    w->stays = PL_NEW_N(arena, bool, items->n_item);
    return w;
}

void pl_evict_inner_touch(pl_evict_retain *retain, int stage)
{
    pl_evict_inner *w = retain->within;
    if (w->touched[stage]) return;
    w->touched[stage] = true;
    w->list[w->n++] = stage;
}

/* The use of a tracked item in a stage, or NULL; and whether it stays after it. */
static const pl_evict_retain_use *find_use(const pl_evict_retain *r, int item, int stage,
                                           bool *stays)
{
    const pl_evict_retain_uses *u = &r->uses[item];
    int k = pl_evict_retain_find(r, item, stage);
    if (k == u->n || u->at[k].stage != stage) return NULL;
    *stays = k + 1 < u->n && u->at[k + 1].how != PL_RETAIN_AGAIN;
    return &u->at[k];
}

/* Notes that the run at `place` reads the item; bytes that it brings into the stage. */
static int64_t note_input(pl_evict_retain *r, int item, int stage, int place)
{
    pl_evict_inner *w = r->within;
    if (!r->tracked[item]) return 0;
    w->last[item] = place;
    if (w->seen[item] == w->stamp) return 0;
    w->seen[item] = w->stamp;
    const pl_evict_retain_use *use = find_use(r, item, stage, &w->stays[item]);
    return use->how == PL_RETAIN_AGAIN ? 0 : r->items->item[item].bytes;
}

static int64_t end_run(pl_evict_retain *r, int op, int stage, int place)
{
    const pl_evict_items *x = r->items;
    pl_evict_inner *w = r->within;
    int64_t change = 0;
    for (int k = x->out_at[op]; k < x->out_at[op + 1]; k++) {
        int i = x->out[k];
        bool stays;
        if (!r->tracked[i]) continue;
        const pl_evict_retain_use *use = find_use(r, i, stage, &stays);
        if (!use || (op != stage && use->how != PL_RETAIN_AGAIN)) continue;
        if (stays || (w->seen[i] == w->stamp && w->last[i] > place)) change += x->item[i].bytes;
    }
    for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++) {
        int i = x->in[k];
        if (r->tracked[i] && w->last[i] == place && !w->stays[i]) change -= x->item[i].bytes;
    }
    return change;
}

static int64_t sum_stage(pl_evict_retain *r, int stage)
{
    const pl_evict_items *x = r->items;
    pl_evict_inner *w = r->within;
    const pl_evict_retain_runs *again = &r->runs[stage];
    int n = again->n + (stage < x->n_op);
    int64_t now = 0, most = 0;
    w->stamp++;
    for (int place = 0; place < n; place++) {
        int op = place < again->n ? again->at[place].op : stage;
        for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++)
            now += note_input(r, x->in[k], stage, place);
        r->steps += x->in_at[op + 1] - x->in_at[op];
    }
    for (int k = 0; k < r->n_ends && stage == x->n_op; k++) {
        now += note_input(r, r->ends[k], stage, n);
        w->last[r->ends[k]] = n;
    }
    most = now;
    for (int place = 0; place < n; place++) {
        int op = place < again->n ? again->at[place].op : stage;
        most = now + x->made[op] > most ? now + x->made[op] : most;
        if (place + 1 < n || stage == x->n_op) now += end_run(r, op, stage, place);
    }
    return most;
}

static void sum_again(pl_evict_retain *r, int stage)
{
    int64_t was = r->inner[stage], is = sum_stage(r, stage);
    if (was == is) return;
    pl_evict_retain_log_inner(r->log, stage, was);
    pl_evict_retain_log_load(r->log, stage, stage, is - was);
    r->inner[stage] = is;
    pl_evict_retain_add(r, stage, stage, is - was);
}

void pl_evict_inner_settle(pl_evict_retain *retain)
{
    pl_evict_inner *w = retain->within;
    for (int k = 0; k < w->n; k++) {
        w->touched[w->list[k]] = false;
        sum_again(retain, w->list[k]);
    }
    w->n = 0;
}

void pl_evict_inner_all(pl_evict_retain *retain)
{
    for (int t = 0; t <= retain->items->n_op; t++) sum_again(retain, t);
}
