/* Changes of what is retained. A change of one pair of uses may start or end a run of the maker in
 * a stage, which adds or takes away uses of what it reads there, and so on down: change_how(),
 * add_use(), take_use(), want() and unwant() call each other, always with items made earlier. What
 * stages hold inside is summed again once per change (inner.c). A log undoes it. */
#include "evict/retain.h"

#include "evict/inner.h"
#include "evict/retain_log.h"

#include <math.h>
#include <string.h>

static void want(pl_evict_retain *r, int op, int item, int stage);
static void unwant(pl_evict_retain *r, int op, int item, int stage);

/* -- bytes ------------------------------------------------------------------------------------- */

/* Adds bytes to the stages from .. to, both included. */
static void add_load(pl_evict_retain *r, int from, int to, int64_t bytes)
{
    if (from > to) return;
    r->steps += (to - from) / 16;
    pl_evict_retain_log_load(r->log, from, to, bytes);
    pl_evict_retain_add(r, from, to, bytes);
}

/* The bytes of an item between two neighbouring uses, as use `to` says it gets there. */
static void add_between(pl_evict_retain *r, int item, int from, const pl_evict_retain_use *to,
                        int sign)
{
    int64_t bytes = sign * r->items->item[item].bytes;
    if (to->how == PL_RETAIN_KEEP) add_load(r, from + 1, to->stage - 1, bytes);
    if (to->how != PL_RETAIN_HOST) return;
    add_load(r, from + 1, to->gone - 1, bytes);
    add_load(r, to->back, to->stage - 1, bytes);
}

/* -- uses -------------------------------------------------------------------------------------- */

int pl_evict_retain_find(const pl_evict_retain *retain, int item, int stage)
{
    const pl_evict_retain_uses *u = &retain->uses[item];
    int low = 0, high = u->n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (u->at[mid].stage < stage)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void insert_use(pl_evict_retain *r, int item, int k, pl_evict_retain_use use)
{
    pl_evict_retain_uses *u = &r->uses[item];
    PL_PUSH(r->arena, u, use);
    memmove(u->at + k + 1, u->at + k, sizeof use * (size_t)(u->n - 1 - k));
    u->at[k] = use;
}

static bool may_again(const pl_evict_retain *r, int item)
{
    const pl_evict_item *m = &r->items->item[item];
    int most = r->items->problem->most_runs;
    return m->again && (!most || r->n_runs[m->born] < most);
}

/* Weighted bytes above the budget that keeping an item from its last use before a stage up to
 * there adds, as far as `limit`. */
static double price_keep(const pl_evict_retain *r, int item, int from, int stage, double limit)
{
    int64_t bytes = r->items->item[item].bytes;
    double price = 0;
    for (int t = from + 1; t < stage && price <= limit; t++) {
        int64_t is = r->load[t] + bytes - r->budget;
        if (is > 0) price += r->weight[t] * (double)(is < bytes ? is : bytes);
    }
    return price;
}

/* Seconds of making an item again in a stage, with what is missing for that, each kept or made
 * again: as far as `limit`. */
static double price_again(pl_evict_retain *r, int item, int stage, int depth, double limit)
{
    const pl_evict_items *x = r->items;
    int op = x->item[item].born;
    double price = x->item[item].again_seconds;
    for (int k = x->in_at[op]; k < x->in_at[op + 1] && depth > 0 && price <= limit; k++) {
        int i = x->in[k], at = r->tracked[i] ? pl_evict_retain_find(r, i, stage) : 0;
        const pl_evict_retain_uses *u = &r->uses[i];
        if (!r->tracked[i] ||
            (at < u->n && (u->at[at].stage == stage || u->at[at].how != PL_RETAIN_AGAIN)))
            continue;
        double keep = price_keep(r, i, u->at[at - 1].stage, stage, limit - price);
        r->steps += 2;
        if (keep > 0 && x->item[i].again)
            keep = fmin(keep, price_again(r, i, stage, depth - 1, limit - price));
        price += keep;
    }
    return price;
}

/* Is it dearer to keep an item up to a stage than to make it again there? */
static bool is_dear(pl_evict_retain *r, int item, int from, int stage)
{
    double keep = price_keep(r, item, from, stage, INFINITY);
    return keep > 0 && keep > price_again(r, item, stage, r->foresight, keep);
}

/* A run in that stage reads the item. */
static void add_use(pl_evict_retain *r, int item, int stage)
{
    if (!r->tracked[item]) return;
    r->steps += 4;
    pl_evict_retain_log_uses(r->log, r, item);
    pl_evict_retain_uses *u = &r->uses[item];
    int k = pl_evict_retain_find(r, item, stage);
    if (k < u->n && u->at[k].stage == stage) {
        u->at[k].count++;
        return;
    }
    pl_evict_retain_use use = { .stage = stage, .count = 1, .how = PL_RETAIN_KEEP };
    int from = u->at[k - 1].stage;
    pl_evict_retain_use *next = k < u->n ? &u->at[k] : NULL;
    if (next) add_between(r, item, from, next, -1);
    if (!next || next->how == PL_RETAIN_AGAIN) {
        if (may_again(r, item) && is_dear(r, item, from, stage)) use.how = PL_RETAIN_AGAIN;
    } else if (next->how == PL_RETAIN_HOST && stage >= next->back) {
        use.how = PL_RETAIN_HOST;
        use.gone = next->gone;
        use.back = next->back;
        next->how = PL_RETAIN_KEEP;
    } else if (next->how == PL_RETAIN_HOST && stage >= next->gone) {
        use.how = PL_RETAIN_HOST;
        use.gone = next->gone;
        use.back = stage;
        next->gone = stage + 1;
        r->n_host++;
    }
    add_between(r, item, from, &use, 1);
    if (next) add_between(r, item, stage, next, 1);
    insert_use(r, item, k, use);
    pl_evict_inner_touch(r, stage);
    if (from >= 0) pl_evict_inner_touch(r, from);
    if (use.how == PL_RETAIN_AGAIN) want(r, r->items->item[item].born, item, stage);
}

static int find_run(const pl_evict_retain_runs *list, int op);

/* Can a run of an op in that stage for one of its items be one in another stage? Not where another
 * item still wants it there and it may run no more often. */
static bool can_move(const pl_evict_retain *r, int op, int stage)
{
    int most = r->items->problem->most_runs;
    const pl_evict_retain_runs *list = &r->runs[stage];
    return !most || r->n_runs[op] < most || list->at[find_run(list, op)].wanted == 1;
}

/* A run in that stage reads it no more. Where it was made again for that use and kept for the next,
 * it is made again there. */
static void take_use(pl_evict_retain *r, int item, int stage)
{
    if (!r->tracked[item]) return;
    r->steps += 4;
    pl_evict_retain_log_uses(r->log, r, item);
    pl_evict_retain_uses *u = &r->uses[item];
    int k = pl_evict_retain_find(r, item, stage), op = r->items->item[item].born;
    if (--u->at[k].count > 0) return;
    pl_evict_retain_use old = u->at[k];
    int from = u->at[k - 1].stage, to = -1;
    bool moved = false;
    add_between(r, item, from, &old, -1);
    if (k + 1 < u->n) {
        pl_evict_retain_use *next = &u->at[k + 1];
        add_between(r, item, stage, next, -1);
        if (next->how == PL_RETAIN_HOST && old.how == PL_RETAIN_HOST) {
            next->gone = old.gone;
            r->n_host--;
        } else if (next->how == PL_RETAIN_KEEP && old.how == PL_RETAIN_HOST) {
            next->how = PL_RETAIN_HOST;
            next->gone = old.gone;
            next->back = old.back;
        } else if (next->how != PL_RETAIN_AGAIN && old.how == PL_RETAIN_AGAIN) {
            if (next->how == PL_RETAIN_HOST) r->n_host--;
            moved = can_move(r, op, stage);
            next->how = moved ? PL_RETAIN_AGAIN : PL_RETAIN_KEEP;
        } else if (next->how == PL_RETAIN_AGAIN && old.how == PL_RETAIN_HOST) {
            r->n_host--;
        }
        add_between(r, item, from, next, 1);
        to = next->stage;
    } else if (old.how == PL_RETAIN_HOST) {
        r->n_host--;
    }
    memmove(u->at + k, u->at + k + 1, sizeof old * (size_t)(u->n - 1 - k));
    u->n--;
    if (from >= 0) pl_evict_inner_touch(r, from);
    pl_evict_inner_touch(r, stage);
    if (to >= 0) pl_evict_inner_touch(r, to);
    if (old.how == PL_RETAIN_AGAIN) unwant(r, op, item, stage);
    if (moved) want(r, op, item, to);
}

/* -- runs -------------------------------------------------------------------------------------- */

static int find_run(const pl_evict_retain_runs *list, int op)
{
    int low = 0, high = list->n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (list->at[mid].op < op)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Seconds that the views of an item add when it is made again: at most. */
static double view_seconds(const pl_evict_retain *r, int item)
{
    const pl_evict_item *m = &r->items->item[item];
    return m->again_seconds - r->items->problem->seconds[m->born];
}

static void want(pl_evict_retain *r, int op, int item, int stage)
{
    const pl_evict_items *x = r->items;
    pl_evict_retain_runs *list = &r->runs[stage];
    pl_evict_retain_log_runs(r->log, r, stage);
    pl_evict_inner_touch(r, stage);
    r->cost += view_seconds(r, item);
    int k = find_run(list, op);
    if (k < list->n && list->at[k].op == op) {
        list->at[k].wanted++;
        return;
    }
    pl_evict_retain_run run = { .op = op, .wanted = 1 };
    PL_PUSH(r->arena, list, run);
    memmove(list->at + k + 1, list->at + k, sizeof run * (size_t)(list->n - 1 - k));
    list->at[k] = run;
    pl_evict_retain_log_count(r->log, op, 1);
    r->n_runs[op]++;
    r->cost += x->problem->seconds[op];
    for (int i = x->in_at[op]; i < x->in_at[op + 1]; i++) add_use(r, x->in[i], stage);
}

static void unwant(pl_evict_retain *r, int op, int item, int stage)
{
    const pl_evict_items *x = r->items;
    pl_evict_retain_runs *list = &r->runs[stage];
    pl_evict_retain_log_runs(r->log, r, stage);
    pl_evict_inner_touch(r, stage);
    r->cost -= view_seconds(r, item);
    int k = find_run(list, op);
    if (--list->at[k].wanted > 0) return;
    memmove(list->at + k, list->at + k + 1, sizeof *list->at * (size_t)(list->n - 1 - k));
    list->n--;
    pl_evict_retain_log_count(r->log, op, -1);
    r->n_runs[op]--;
    r->cost -= x->problem->seconds[op];
    for (int i = x->in_at[op]; i < x->in_at[op + 1]; i++) take_use(r, x->in[i], stage);
}

/* Another time for what is on the host already: only the stages in between change. */
static void change_time(pl_evict_retain *r, int item, int k, int gone, int back)
{
    int64_t bytes = r->items->item[item].bytes;
    pl_evict_retain_log_uses(r->log, r, item);
    pl_evict_retain_use *use = &r->uses[item].at[k];
    add_load(r, use->gone, gone - 1, bytes);
    add_load(r, gone, use->gone - 1, -bytes);
    add_load(r, back, use->back - 1, bytes);
    add_load(r, use->back, back - 1, -bytes);
    use->gone = gone;
    use->back = back;
}

bool pl_evict_retain_change(pl_evict_retain *retain, int item, int k, pl_evict_retain_how how,
                            int gone, int back)
{
    pl_evict_retain *r = retain;
    pl_evict_retain_use *use = &r->uses[item].at[k], old = *use;
    int from = r->uses[item].at[k - 1].stage, op = r->items->item[item].born, stage = use->stage;
    if (old.how == how && (how != PL_RETAIN_HOST || (old.gone == gone && old.back == back)))
        return false;
    r->steps += 10;
    if (how == PL_RETAIN_AGAIN && !may_again(r, item)) return false;
    if (how == PL_RETAIN_HOST && old.how == PL_RETAIN_HOST) {
        change_time(r, item, k, gone, back);
        return true;
    }
    pl_evict_retain_log_uses(r->log, r, item);
    use = &r->uses[item].at[k];
    add_between(r, item, from, &old, -1);
    use->how = (uint8_t)how;
    use->gone = gone;
    use->back = back;
    add_between(r, item, from, use, 1);
    r->n_host += (how == PL_RETAIN_HOST) - (old.how == PL_RETAIN_HOST);
    if (from >= 0) pl_evict_inner_touch(r, from);
    pl_evict_inner_touch(r, stage);
    if (old.how == PL_RETAIN_AGAIN) unwant(r, op, item, stage);
    if (how == PL_RETAIN_AGAIN) want(r, op, item, stage);
    pl_evict_inner_settle(r);
    return true;
}
