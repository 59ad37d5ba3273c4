/* The log of changes, and what makes, saves and loads a whole state. */
#include "evict/retain_log.h"

#include "evict/inner.h"

#include <string.h>

typedef struct log_list {
    int id, n, from; /* n entries from there in the pool */
} log_list;

struct pl_evict_retain_log {
    int stamp, *use_stamp, *run_stamp; /* of the copies made since the last accept */
    struct {
        log_list *at;
        int n, cap;
    } uses, runs;
    struct {
        pl_evict_retain_use *at;
        int n, cap;
    } use_pool;
    struct {
        pl_evict_retain_run *at;
        int n, cap;
    } run_pool;
    struct {
        struct log_load {
            int from, to;
            int64_t bytes;
        } * at;
        int n, cap;
    } loads, inners;
    struct {
        struct log_count {
            int op, change;
        } * at;
        int n, cap;
    } counts;
    pl_arena *arena;
};

pl_evict_retain_log *pl_evict_retain_log_new(const pl_evict_items *items, pl_arena *arena)
{
    pl_evict_retain_log *log = PL_NEW(arena, pl_evict_retain_log);
    log->stamp = 1;
    log->use_stamp = PL_NEW_N(arena, int, items->n_item);
    log->run_stamp = PL_NEW_N(arena, int, items->n_op + 1);
    log->arena = arena;
    return log;
}

void pl_evict_retain_log_uses(pl_evict_retain_log *log, const pl_evict_retain *retain, int item)
{
    if (log->use_stamp[item] == log->stamp) return;
    log->use_stamp[item] = log->stamp;
    const pl_evict_retain_uses *u = &retain->uses[item];
    log_list entry = { .id = item, .n = u->n, .from = log->use_pool.n };
    PL_PUSH(log->arena, &log->uses, entry);
    for (int k = 0; k < u->n; k++) PL_PUSH(log->arena, &log->use_pool, u->at[k]);
}

void pl_evict_retain_log_runs(pl_evict_retain_log *log, const pl_evict_retain *retain, int stage)
{
    if (log->run_stamp[stage] == log->stamp) return;
    log->run_stamp[stage] = log->stamp;
    const pl_evict_retain_runs *list = &retain->runs[stage];
    log_list entry = { .id = stage, .n = list->n, .from = log->run_pool.n };
    PL_PUSH(log->arena, &log->runs, entry);
    for (int k = 0; k < list->n; k++) PL_PUSH(log->arena, &log->run_pool, list->at[k]);
}

void pl_evict_retain_log_load(pl_evict_retain_log *log, int from, int to, int64_t bytes)
{
    struct log_load entry = { .from = from, .to = to, .bytes = bytes };
    PL_PUSH(log->arena, &log->loads, entry);
}

void pl_evict_retain_log_inner(pl_evict_retain_log *log, int stage, int64_t was)
{
    struct log_load entry = { .from = stage, .bytes = was };
    PL_PUSH(log->arena, &log->inners, entry);
}

void pl_evict_retain_log_count(pl_evict_retain_log *log, int op, int change)
{
    struct log_count entry = { .op = op, .change = change };
    PL_PUSH(log->arena, &log->counts, entry);
}

void pl_evict_retain_add(pl_evict_retain *retain, int from, int to, int64_t bytes)
{
    int64_t *load = retain->load, budget = retain->budget;
    const double *weight = retain->weight;
    double over = 0;
    int n_over = 0;
    for (int t = from; t <= to; t++) {
        int64_t was = load[t] - budget, is = was + bytes;
        over += weight[t] * (double)((is > 0 ? is : 0) - (was > 0 ? was : 0));
        n_over += (is > 0) - (was > 0);
        load[t] += bytes;
    }
    retain->over += over;
    retain->n_over += n_over;
}

pl_evict_retain_mark pl_evict_retain_here(pl_evict_retain *retain)
{
    pl_evict_retain_log *log = retain->log;
    log->stamp++;
    return (pl_evict_retain_mark){ .uses = log->uses.n,
                                   .runs = log->runs.n,
                                   .loads = log->loads.n,
                                   .inners = log->inners.n,
                                   .counts = log->counts.n,
                                   .use_pool = log->use_pool.n,
                                   .run_pool = log->run_pool.n,
                                   .cost = retain->cost,
                                   .over = retain->over,
                                   .n_over = retain->n_over,
                                   .n_host = retain->n_host };
}

void pl_evict_retain_accept(pl_evict_retain *retain)
{
    pl_evict_retain_log *log = retain->log;
    log->stamp++;
    log->uses.n = log->runs.n = log->use_pool.n = log->run_pool.n = 0;
    log->loads.n = log->inners.n = log->counts.n = 0;
}

static void undo_lists(pl_evict_retain *r, const pl_evict_retain_mark *mark)
{
    pl_evict_retain_log *log = r->log;
    for (int k = log->uses.n - 1; k >= mark->uses; k--) {
        log_list e = log->uses.at[k];
        r->uses[e.id].n = e.n;
        if (e.n > 0)
            memcpy(r->uses[e.id].at, log->use_pool.at + e.from,
                   sizeof *log->use_pool.at * (size_t)e.n);
    }
    for (int k = log->runs.n - 1; k >= mark->runs; k--) {
        log_list e = log->runs.at[k];
        r->runs[e.id].n = e.n;
        if (e.n > 0)
            memcpy(r->runs[e.id].at, log->run_pool.at + e.from,
                   sizeof *log->run_pool.at * (size_t)e.n);
    }
}

void pl_evict_retain_undo(pl_evict_retain *retain, pl_evict_retain_mark mark)
{
    pl_evict_retain_log *log = retain->log;
    for (int k = log->loads.n - 1; k >= mark.loads; k--)
        pl_evict_retain_add(retain, log->loads.at[k].from, log->loads.at[k].to,
                            -log->loads.at[k].bytes);
    for (int k = log->inners.n - 1; k >= mark.inners; k--)
        retain->inner[log->inners.at[k].from] = log->inners.at[k].bytes;
    for (int k = log->counts.n - 1; k >= mark.counts; k--)
        retain->n_runs[log->counts.at[k].op] -= log->counts.at[k].change;
    undo_lists(retain, &mark);
    log->uses.n = mark.uses;
    log->runs.n = mark.runs;
    log->use_pool.n = mark.use_pool;
    log->run_pool.n = mark.run_pool;
    log->loads.n = mark.loads;
    log->inners.n = mark.inners;
    log->counts.n = mark.counts;
    retain->cost = mark.cost;
    retain->over = mark.over;
    retain->n_over = mark.n_over;
    retain->n_host = mark.n_host;
    log->stamp++;
}

/* -- whole states ------------------------------------------------------------------------------ */

static void add_uses(pl_evict_retain *r, int item)
{
    const pl_evict_items *x = r->items;
    const pl_evict_item *m = &x->item[item];
    pl_evict_retain_use use = { .stage = -1, .count = 1, .how = PL_RETAIN_KEEP };
    if (m->born < 0) PL_PUSH(r->arena, &r->uses[item], use);
    for (int k = x->use_at[item]; k < x->use_at[item + 1]; k++) {
        use.stage = x->use[k];
        PL_PUSH(r->arena, &r->uses[item], use);
    }
    use.stage = x->n_op;
    if (m->at_end) {
        PL_PUSH(r->arena, &r->uses[item], use);
        r->ends[r->n_ends++] = item;
    }
    for (int k = 1; k < r->uses[item].n; k++)
        pl_evict_retain_add(r, r->uses[item].at[k - 1].stage + 1, r->uses[item].at[k].stage - 1,
                            m->bytes);
}

pl_evict_retain *pl_evict_retain_new(const pl_evict_items *items, int64_t budget, pl_arena *arena)
{
    int n = items->n_op;
    pl_evict_retain *r = PL_NEW(arena, pl_evict_retain);
    *r = (pl_evict_retain){ .items = items, .budget = budget, .arena = arena };
    r->tracked = PL_NEW_N(arena, bool, items->n_item);
    r->uses = PL_NEW_N(arena, pl_evict_retain_uses, items->n_item);
    r->runs = PL_NEW_N(arena, pl_evict_retain_runs, n + 1);
    r->n_runs = PL_NEW_N(arena, int, n);
    r->load = PL_NEW_N(arena, int64_t, n + 1);
    r->inner = PL_NEW_N(arena, int64_t, n + 1);
    r->weight = PL_NEW_N(arena, double, n + 1);
    for (int t = 0; t <= n; t++) r->weight[t] = 1;
    r->ends = PL_NEW_N(arena, int, items->n_item);
    r->log = pl_evict_retain_log_new(items, arena);
    r->within = pl_evict_inner_new(items, arena);
    for (int t = 0; t < n; t++) r->n_runs[t] = 1;
    for (int t = 0; t <= n; t++) r->n_over += r->load[t] > budget;
    for (int i = 0; i < items->n_item; i++) {
        const pl_evict_item *m = &items->item[i];
        r->tracked[i] = !m->pinned && m->bytes > 0;
        if (r->tracked[i])
            add_uses(r, i);
        else if (m->bytes > 0)
            pl_evict_retain_add(r, m->born < 0 ? 0 : m->born + 1, n, m->bytes);
    }
    pl_evict_inner_all(r);
    pl_evict_retain_accept(r);
    return r;
}

void pl_evict_retain_set_budget(pl_evict_retain *retain, int64_t budget)
{
    retain->budget = budget;
    pl_evict_retain_sum(retain);
    pl_evict_retain_accept(retain);
}

void pl_evict_retain_sum(pl_evict_retain *retain)
{
    retain->over = 0;
    retain->n_over = 0;
    for (int t = 0; t <= retain->items->n_op; t++) {
        int64_t over = retain->load[t] - retain->budget;
        retain->over += over > 0 ? retain->weight[t] * (double)over : 0;
        retain->n_over += over > 0;
    }
}

int64_t pl_evict_retain_peak(const pl_evict_retain *retain, int *stage)
{
    int at = 0;
    for (int t = 1; t <= retain->items->n_op; t++)
        if (retain->load[t] > retain->load[at]) at = t;
    if (stage) *stage = at;
    return retain->load[at];
}

struct pl_evict_retain_saved {
    int *n_uses, *n_run;
    pl_evict_retain_use *use;
    pl_evict_retain_run *run;
    int64_t *load, *inner;
    int *n_runs, n_host;
    double cost;
};

pl_evict_retain_saved *pl_evict_retain_save(const pl_evict_retain *retain, pl_arena *arena)
{
    const pl_evict_retain *r = retain;
    int n_item = r->items->n_item, n = r->items->n_op, uses = 0, runs = 0;
    pl_evict_retain_saved *s = PL_NEW(arena, pl_evict_retain_saved);
    s->n_uses = PL_NEW_N(arena, int, n_item);
    s->n_run = PL_NEW_N(arena, int, n + 1);
    for (int i = 0; i < n_item; i++) uses += s->n_uses[i] = r->uses[i].n;
    for (int t = 0; t <= n; t++) runs += s->n_run[t] = r->runs[t].n;
    s->use = PL_NEW_N(arena, pl_evict_retain_use, uses);
    s->run = PL_NEW_N(arena, pl_evict_retain_run, runs);
    pl_evict_retain_use *use = s->use;
    pl_evict_retain_run *run = s->run;
    for (int i = 0; i < n_item; i++)
        for (int k = 0; k < r->uses[i].n; k++) *use++ = r->uses[i].at[k];
    for (int t = 0; t <= n; t++)
        for (int k = 0; k < r->runs[t].n; k++) *run++ = r->runs[t].at[k];
    s->load = PL_NEW_N(arena, int64_t, n + 1);
    s->inner = PL_NEW_N(arena, int64_t, n + 1);
    s->n_runs = PL_NEW_N(arena, int, n);
    memcpy(s->load, r->load, sizeof *s->load * (size_t)(n + 1));
    memcpy(s->inner, r->inner, sizeof *s->inner * (size_t)(n + 1));
    memcpy(s->n_runs, r->n_runs, sizeof *s->n_runs * (size_t)n);
    s->n_host = r->n_host;
    s->cost = r->cost;
    return s;
}

void pl_evict_retain_load(pl_evict_retain *retain, const pl_evict_retain_saved *saved)
{
    pl_evict_retain *r = retain;
    int n = r->items->n_op;
    const pl_evict_retain_use *use = saved->use;
    const pl_evict_retain_run *run = saved->run;
    for (int i = 0; i < r->items->n_item; i++) {
        r->uses[i].n = 0;
        for (int k = 0; k < saved->n_uses[i]; k++) PL_PUSH(r->arena, &r->uses[i], *use++);
    }
    for (int t = 0; t <= n; t++) {
        r->runs[t].n = 0;
        for (int k = 0; k < saved->n_run[t]; k++) PL_PUSH(r->arena, &r->runs[t], *run++);
    }
    memcpy(r->load, saved->load, sizeof *r->load * (size_t)(n + 1));
    memcpy(r->inner, saved->inner, sizeof *r->inner * (size_t)(n + 1));
    memcpy(r->n_runs, saved->n_runs, sizeof *r->n_runs * (size_t)n);
    r->n_host = saved->n_host;
    r->cost = saved->cost;
    pl_evict_retain_set_budget(r, r->budget);
}
