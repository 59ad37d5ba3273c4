/* Greedy repair and local search. repair_once() takes the stage that is most above the budget and
 * lists what could go there (list_candidates), tries the best few for real and takes the one with
 * the least seconds per byte of excess. run_move() keeps one thing and repairs. */
#include "evict/improve.h"

#include <math.h>

enum { TRIES = 12, MOST_REPAIRS = 12 };

static double draw(pl_evict_improve *v)
{
    return pl_draw_uniform(&v->draw, v->drawn++);
}

static int draw_below(pl_evict_improve *v, int n)
{
    int k = (int)(draw(v) * n);
    return k < n ? k : n - 1;
}

pl_evict_improve *pl_evict_improve_new(pl_evict_retain *retain, const double price[], uint64_t seed,
                                       pl_arena *arena)
{
    pl_evict_improve *v = PL_NEW(arena, pl_evict_improve);
    v->retain = retain;
    v->price = price;
    v->draw.rng = pl_rng_at(seed, pl_rng_name("evict"));
    v->candidate = PL_NEW_N(arena, int, 2 * retain->items->n_item);
    v->key = PL_NEW_N(arena, double, 2 * retain->items->n_item);
    v->sum = PL_NEW_N(arena, double, retain->items->n_op + 2);
    v->stages = PL_NEW_N(arena, int, retain->items->n_op + 1);
    return v;
}

/* Excess of the stages before each, in bytes. */
static void sum_excess(pl_evict_improve *v)
{
    const pl_evict_retain *r = v->retain;
    for (int t = 0; t <= r->items->n_op; t++) {
        int64_t over = r->load[t] - r->budget;
        v->sum[t + 1] = v->sum[t] + (over > 0 ? (double)over : 0);
    }
}

/* Which use of an item is gone to around that stage, or from it or to it; 0: none that is kept. */
static int find_kept(const pl_evict_retain *r, int item, int stage)
{
    const pl_evict_retain_uses *u = &r->uses[item];
    int k = pl_evict_retain_find(r, item, stage);
    if (k > 0 && k < u->n && u->at[k].how == PL_RETAIN_KEEP) return k;
    if (k < u->n && u->at[k].stage == stage && k + 1 < u->n && u->at[k + 1].how == PL_RETAIN_KEEP)
        return k + 1;
    return 0;
}

/* What could go at a stage, the cheapest few first: seconds to make it again for each byte of
 * excess that it takes away, over all stages. */
static void list_candidates(pl_evict_improve *v, int stage, double noise)
{
    pl_evict_retain *r = v->retain;
    int best[TRIES], n = 0;
    double key[TRIES];
    r->steps += r->items->n_item;
    for (int i = 0; i < r->items->n_item; i++) {
        const pl_evict_item *m = &r->items->item[i];
        if (!r->tracked[i] || !m->again || m->born >= stage) continue;
        int k = find_kept(r, i, stage);
        if (!k) continue;
        int from = r->uses[i].at[k - 1].stage, to = r->uses[i].at[k].stage;
        double relief = (double)m->bytes * (to - from), most = v->sum[to + 1] - v->sum[from];
        double rank = (m->again_seconds + 1e-12) / fmin(relief, most);
        if (noise > 0) rank *= 1 + noise * draw(v);
        if (n == TRIES && rank >= key[n - 1]) continue;
        int at = n < TRIES ? n++ : n - 1;
        for (; at > 0 && key[at - 1] > rank; at--) {
            key[at] = key[at - 1];
            best[at] = best[at - 1];
        }
        key[at] = rank;
        best[at] = i;
    }
    v->n_candidate = n;
    for (int k = 0; k < n; k++) v->candidate[k] = best[k];
}

/* Seconds for each byte of excess less, from what was accepted last; INFINITY where there is no
 * less. */
static double rate(const pl_evict_retain *r, double cost, double over)
{
    if (!(r->over < over)) return INFINITY;
    return (r->cost - cost + 1e-12) / (over - r->over);
}

/* In a stage where ops run again: what is made again there for the second run that reads it could
 * have been kept instead. */
static bool keep_instead(pl_evict_improve *v, int stage)
{
    pl_evict_retain *r = v->retain;
    const pl_evict_items *x = r->items;
    double cost = r->cost, over = r->over, best = INFINITY;
    int best_item = -1;
    pl_evict_retain_mark mark = pl_evict_retain_here(r);
    for (int k = 0; k < r->runs[stage].n; k++) {
        int op = r->runs[stage].at[k].op;
        for (int o = x->out_at[op]; o < x->out_at[op + 1]; o++) {
            int i = x->out[o], at = r->tracked[i] ? pl_evict_retain_find(r, i, stage) : 0;
            if (!r->tracked[i] || at >= r->uses[i].n || r->uses[i].at[at].stage != stage ||
                !pl_evict_retain_change(r, i, at, PL_RETAIN_KEEP, 0, 0))
                continue;
            double is = r->over < over ? (r->cost - cost) / (over - r->over) : INFINITY;
            pl_evict_retain_undo(r, mark);
            if (is >= best) continue;
            best = is;
            best_item = i;
        }
    }
    if (best_item < 0) return false;
    (void)pl_evict_retain_change(r, best_item, pl_evict_retain_find(r, best_item, stage),
                                 PL_RETAIN_KEEP, 0, 0);
    return true;
}

static bool repair_once(pl_evict_improve *v, double noise)
{
    pl_evict_retain *r = v->retain;
    int stage, best_item = -1;
    (void)pl_evict_retain_peak(r, &stage);
    sum_excess(v);
    list_candidates(v, stage, noise);
    double cost = r->cost, over = r->over, best = INFINITY;
    pl_evict_retain_mark mark = pl_evict_retain_here(r);
    for (int c = 0; c < v->n_candidate; c++) {
        int i = v->candidate[c];
        if (!pl_evict_retain_change(r, i, find_kept(r, i, stage), PL_RETAIN_AGAIN, 0, 0)) continue;
        double is = rate(r, cost, over);
        pl_evict_retain_undo(r, mark);
        if (is >= best) continue;
        best = is;
        best_item = i;
    }
    if (best_item < 0) return keep_instead(v, stage);
    (void)pl_evict_retain_change(r, best_item, find_kept(r, best_item, stage), PL_RETAIN_AGAIN, 0,
                                 0);
    return true;
}

/* A byte of excess weighs what memory is worth there: seconds. */
static void weigh(pl_evict_improve *v)
{
    pl_evict_retain *r = v->retain;
    double most = 0;
    for (int t = 0; t < r->items->n_op; t++) most = fmax(most, v->price[t]);
    for (int t = 0; t <= r->items->n_op; t++)
        r->weight[t] = most > 0 ? fmax(0.1 * most, t < r->items->n_op ? v->price[t] : 0) : 1;
    pl_evict_retain_sum(r);
}

bool pl_evict_improve_fit(pl_evict_improve *improve, double noise)
{
    pl_evict_retain *r = improve->retain;
    weigh(improve);
    for (int64_t k = 0; r->n_over > 0; k++) {
        if (!repair_once(improve, noise) || k > 50 * (int64_t)r->items->n_item) return false;
        pl_evict_retain_accept(r);
    }
    return true;
}

/* One of the items that are made again in some stage, by a draw over stages, then over runs. */
static int draw_again(pl_evict_improve *v, int *k)
{
    const pl_evict_retain *r = v->retain;
    const pl_evict_items *x = r->items;
    int n = 0;
    for (int t = 0; t <= x->n_op; t++)
        if (r->runs[t].n > 0) v->stages[n++] = t;
    if (n == 0) return -1;
    int stage = v->stages[draw_below(v, n)];
    int op = r->runs[stage].at[draw_below(v, r->runs[stage].n)].op;
    int first = x->out_at[op], n_out = x->out_at[op + 1] - first, skip = draw_below(v, n_out);
    for (int o = 0; o < n_out; o++) {
        int i = x->out[first + (o + skip) % n_out];
        if (!r->tracked[i]) continue;
        *k = pl_evict_retain_find(r, i, stage);
        if (*k < r->uses[i].n && r->uses[i].at[*k].stage == stage &&
            r->uses[i].at[*k].how == PL_RETAIN_AGAIN)
            return i;
    }
    return -1;
}

/* Whether the state is now another one that fits. */
static bool run_move(pl_evict_improve *v)
{
    pl_evict_retain *r = v->retain;
    int n = draw(v) < 0.3 ? 2 : 1, k;
    for (int j = 0; j < n; j++) {
        int i = draw_again(v, &k);
        if (i < 0) return false;
        (void)pl_evict_retain_change(r, i, k, PL_RETAIN_KEEP, 0, 0);
    }
    double noise = draw(v) < 0.5 ? 0 : 2;
    for (int j = 0; r->n_over > 0; j++)
        if (j == MOST_REPAIRS || !repair_once(v, noise)) return false;
    return true;
}

/* The warmth starts at a share of the mean cost of a run again and falls to nothing. */
void pl_evict_improve_run(pl_evict_improve *improve, int64_t steps)
{
    pl_evict_retain *r = improve->retain;
    pl_arena *tmp = pl_arena_new("evict improve");
    pl_evict_retain_saved *best = pl_evict_retain_save(r, tmp);
    double least = r->cost, heat = 0;
    int n = 0;
    for (int t = 0; t <= r->items->n_op; t++) n += r->runs[t].n;
    heat = n > 0 ? 0.5 * r->cost / n : 0;
    int64_t first = r->steps;
    while (r->steps - first < steps && r->cost > 0) {
        double left = 1 - (double)(r->steps - first) / (double)steps;
        r->steps += 10;
        pl_evict_retain_accept(r);
        pl_evict_retain_mark mark = pl_evict_retain_here(r);
        double cost = r->cost;
        if (!run_move(improve) || r->cost - cost > -heat * left * log(draw(improve) + 1e-12)) {
            pl_evict_retain_undo(r, mark);
            continue;
        }
        if (r->cost >= least * (1 - 1e-12)) continue;
        least = r->cost;
        r->steps += r->items->n_item;
        pl_arena_free(tmp);
        tmp = pl_arena_new("evict improve");
        best = pl_evict_retain_save(r, tmp);
    }
    pl_evict_retain_load(r, best);
    pl_arena_free(tmp);
}
