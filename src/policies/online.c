/* Ops in their order; what an op reads is made usable first (make_usable), and memory is freed for
 * what it makes (make_room). */
#include "policies/online.h"

#include "policies/region.h"

#include <math.h>
#include <string.h>

static bool make_usable(pl_evict_online *o, int value);

static void leave_pool(pl_evict_online *o, int item)
{
    for (int k = 0; k < o->n_pool; k++)
        if (o->pool[k] == item) {
            memmove(o->pool + k, o->pool + k + 1, sizeof *o->pool * (size_t)(o->n_pool - 1 - k));
            o->n_pool--;
            return;
        }
}

static void lock(pl_evict_online *o, int item)
{
    if (o->locks[item]++ == 0) leave_pool(o, item);
}

static void unlock(pl_evict_online *o, int item)
{
    if (--o->locks[item] == 0) o->pool[o->n_pool++] = item;
}

static void evict(pl_evict_online *o, int item, bool to_host)
{
    leave_pool(o, item);
    if (to_host) {
        if (!o->play->copied[item]) pl_evict_play_out(o->play, item);
        PL_PUSH(o->arena, &o->queue, item);
    }
    pl_evict_play_drop(o->play, item);
    if (!to_host) pl_evict_region_gone(o, item);
}

/* Can it come back? */
static bool may_go(const pl_evict_online *o, int item)
{
    return o->items->item[item].again || o->rule->to_host;
}

static int choose(pl_evict_online *o)
{
    double least = INFINITY, mean = 0;
    int best = -1, n = 0;
    if (o->rule->spared > 0) {
        for (int k = 0; k < o->n_pool; k++) {
            mean += (double)o->items->item[o->pool[k]].bytes;
            n++;
        }
        mean /= n > 0 ? n : 1;
    }
    for (int small = 0; small < 2 && best < 0; small++)
        for (int k = 0; k < o->n_pool; k++) {
            int i = o->pool[k];
            if (!may_go(o, i)) continue;
            if (!small && (double)o->items->item[i].bytes < o->rule->spared * mean) continue;
            double score = o->rule->score(o, i);
            if (score > least) continue;
            least = score;
            best = i;
            if (score == 0) break;
        }
    return best;
}

static bool make_room(pl_evict_online *o, int64_t bytes)
{
    while (o->play->bytes + bytes > o->budget) {
        if (o->n_pool == 0) return false;
        int i = choose(o);
        if (i < 0) return false;
        evict(o, i, o->rule->to_host && o->rule->to_host(o, i));
    }
    return true;
}

/* A storage on the host comes back. */
static bool bring_in(pl_evict_online *o, int item)
{
    if (!make_room(o, o->items->item[item].bytes)) return false;
    pl_evict_play_in(o->play, item);
    o->pool[o->n_pool++] = item;
    return true;
}

static bool on_host(const pl_evict_online *o, int item)
{
    return o->play->copied[item] && !o->play->present[item] && o->rule->to_host;
}

/* Was it usable when it was copied, so that copying brings it back? */
static bool comes_in(const pl_evict_online *o, int value)
{
    return on_host(o, o->items->item_of[value]) && o->play->kept[value];
}

/* Run an op, what it reads being locked and usable; `value` is the one asked for. */
static bool run(pl_evict_online *o, int op, int value)
{
    const pl_evict_items *x = o->items;
    if (!make_room(o, x->made[op])) return false;
    int from = x->make_at[op], to = x->make_at[op + 1];
    bool first = o->play->runs[op] == 0;
    for (int k = from; k < to && first; k++) {
        int i = x->item_of[x->make[k]];
        bool counted = false;
        for (int j = from; j < k; j++) counted = counted || x->item_of[x->make[j]] == i;
        if (!counted) o->compute[i] += x->problem->seconds[op];
    }
    int n = o->n_pool;
    for (int pass = 0; pass < 2; pass++) /* the one asked for comes last */
        for (int k = from; k < to; k++) {
            int i = x->item_of[x->make[k]];
            if ((x->make[k] == value) == (pass == 1) && !o->play->present[i]) o->pool[n++] = i;
        }
    pl_evict_play_run(o->play, op);
    o->made[op] = true;
    for (; o->n_pool < n; o->n_pool++) pl_evict_region_back(o, o->pool[o->n_pool]);
    return o->play->compute <= o->most_compute;
}

static bool lock_reads(pl_evict_online *o, int op)
{
    const pl_evict_problem *p = o->items->problem;
    const pl_evict_items *x = o->items;
    int from = p->read_at[op], to = p->read_at[op + 1];
    for (int k = from; k < to; k++) o->accessed[x->item_of[p->read[k]]] = o->play->now;
    int first = o->missing.n;
    for (int k = from; k < to; k++)
        if (o->play->here[p->read[k]])
            lock(o, x->item_of[p->read[k]]);
        else
            PL_PUSH(o->arena, &o->missing, p->read[k]);
    int last = o->missing.n;
    for (int k = first; k < last; k++) {
        int v = o->missing.at[k];
        if (!o->play->here[v] && !make_usable(o, v)) return false;
        lock(o, x->item_of[v]);
    }
    o->missing.n = first;
    return true;
}

static void unlock_reads(pl_evict_online *o, int op)
{
    const pl_evict_problem *p = o->items->problem;
    for (int k = p->read_at[op]; k < p->read_at[op + 1]; k++)
        unlock(o, o->items->item_of[p->read[k]]);
}

static bool make_usable(pl_evict_online *o, int value)
{
    int op = o->items->problem->maker[value];
    if (comes_in(o, value)) return bring_in(o, o->items->item_of[value]);
    if (op < 0 || (o->items->problem->once && o->items->problem->once[op])) return false;
    if (!lock_reads(o, op) || !run(o, op, value)) return false;
    unlock_reads(o, op);
    return true;
}

static bool run_first(pl_evict_online *o, int op)
{
    const pl_evict_items *x = o->items;
    o->made[op] = true;
    int value = x->make_at[op] < x->make_at[op + 1] ? x->make[x->make_at[op]] : -1;
    if (!lock_reads(o, op) || !run(o, op, value)) return false;
    unlock_reads(o, op);
    for (int k = x->make_at[op]; k < x->make_at[op + 1]; k++) {
        int i = x->item_of[x->make[k]];
        o->accessed[i] = o->play->now;
        if (x->item[i].pinned && !pl_evict_items_is_view(x, x->make[k])) lock(o, i);
    }
    return true;
}

/* What went to the host first comes back first, into memory that is free. */
static void prefetch(pl_evict_online *o)
{
    const pl_evict_items *x = o->items;
    for (int n = 0; n < o->rule->prefetch && o->queue_from < o->queue.n;) {
        int i = o->queue.at[o->queue_from];
        if (!on_host(o, i)) {
            o->queue_from++;
            continue;
        }
        if (o->play->bytes + x->item[i].bytes >= o->budget) return;
        (void)bring_in(o, i);
        o->queue_from++;
        n++;
    }
}

static bool play(pl_evict_online *o)
{
    const pl_evict_items *x = o->items;
    const pl_evict_problem *p = x->problem;
    pl_arena *tmp = pl_arena_new("online release");
    int *next = PL_NEW_N(tmp, int, x->n_item), *first = PL_NEW_N(tmp, int, x->n_op + 1);
    bool ok = true;
    for (int t = 0; t <= x->n_op; t++) first[t] = -1;
    for (int i = x->n_item - 1; i >= 0; i--) {
        next[i] = first[x->item[i].held];
        first[x->item[i].held] = i;
    }
    for (int t = 0; t < x->n_op && ok; t++) {
        for (int i = first[t]; i >= 0; i = next[i])
            if (o->play->present[i] && !x->item[i].pinned) evict(o, i, false);
        ok = run_first(o, t);
        if (ok && o->rule->prefetch > 0) prefetch(o);
    }
    for (int v = 0; v < x->n_value && ok; v++) {
        if (!p->keep || !(p->keep[v] & PL_EVICT_AT_END)) continue;
        ok = o->play->here[v] || make_usable(o, v);
        if (ok) lock(o, x->item_of[v]);
    }
    pl_arena_free(tmp);
    return ok;
}

bool pl_evict_online_play(const pl_evict_items *items, int64_t budget,
                          const pl_evict_online_rule *rule, pl_arena *out,
                          pl_evict_schedule *schedule)
{
    pl_arena *tmp = pl_arena_new("evict online");
    int n = items->n_item;
    pl_evict_online o = { .items = items,
                          .rule = rule,
                          .budget = budget,
                          .play = pl_evict_play_new(items, tmp),
                          .pool = PL_NEW_N(tmp, int, 2 * n),
                          .locks = PL_NEW_N(tmp, int, n),
                          .accessed = PL_NEW_N(tmp, double, n),
                          .compute = PL_NEW_N(tmp, double, n),
                          .made = PL_NEW_N(tmp, bool, items->n_op),
                          .region = pl_evict_region_new(items, tmp),
                          .arena = tmp };
    for (int t = 0; t < items->n_op; t++) o.most_compute += 20 * items->problem->seconds[t];
    for (int i = 0; i < n; i++) {
        o.accessed[i] = -INFINITY;
        if (o.play->present[i] && !items->item[i].pinned) o.pool[o.n_pool++] = i;
        o.locks[i] = o.play->present[i] && items->item[i].pinned;
    }
    bool ok = o.play->bytes <= budget && play(&o);
    if (ok) pl_evict_play_end(o.play, out, schedule);
    pl_arena_free(tmp);
    return ok;
}
