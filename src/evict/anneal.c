/* One choice at a time: keep what is made again, or make again what is kept, where memory is
 * short. The cost is seconds and the bytes above the budget at a rate that rises while nothing fits
 * and falls while all does. */
#include "evict/anneal.h"

#include <math.h>

typedef struct anneal {
    pl_evict_improve *v;
    pl_evict_retain *r;
    double floor; /* seconds per byte of excess, at the least */
    int *tight, n_tight;
} anneal;

static double draw(anneal *s)
{
    return pl_draw_uniform(&s->v->draw, s->v->drawn++);
}

static int below(anneal *s, int n)
{
    int k = (int)(draw(s) * n);
    return k < n ? k : n - 1;
}

/* Stages where the budget binds, or nearly. */
static void list_tight(anneal *s)
{
    const pl_evict_retain *r = s->r;
    s->n_tight = 0;
    for (int t = 0; t <= r->items->n_op; t++)
        if ((double)r->load[t] > 0.98 * (double)r->budget ||
            (t < r->items->n_op && s->v->price[t] > 0))
            s->tight[s->n_tight++] = t;
}

static bool drop_one(anneal *s)
{
    pl_evict_retain *r = s->r;
    const pl_evict_items *x = r->items;
    if (s->n_tight == 0) return false;
    int stage = s->tight[below(s, s->n_tight)];
    for (int tries = 0; tries < 20; tries++) {
        int i = below(s, x->n_item);
        if (!r->tracked[i] || x->item[i].born >= stage || !x->item[i].again) continue;
        const pl_evict_retain_uses *u = &r->uses[i];
        int k = pl_evict_retain_find(r, i, stage);
        if (k == 0 || k == u->n) continue;
        if (u->at[k].how != PL_RETAIN_KEEP) continue;
        return pl_evict_retain_change(r, i, k, PL_RETAIN_AGAIN, 0, 0);
    }
    return false;
}

static bool keep_one(anneal *s)
{
    pl_evict_retain *r = s->r;
    const pl_evict_items *x = r->items;
    for (int tries = 0; tries < 50; tries++) {
        int stage = below(s, x->n_op + 1);
        if (r->runs[stage].n == 0) continue;
        int op = r->runs[stage].at[below(s, r->runs[stage].n)].op;
        int i = x->out[x->out_at[op] + below(s, x->out_at[op + 1] - x->out_at[op])];
        if (!r->tracked[i]) continue;
        int k = pl_evict_retain_find(r, i, stage);
        if (k < r->uses[i].n && r->uses[i].at[k].stage == stage &&
            r->uses[i].at[k].how == PL_RETAIN_AGAIN)
            return pl_evict_retain_change(r, i, k, PL_RETAIN_KEEP, 0, 0);
    }
    return false;
}

/* Memory gets dearer where it does not suffice, cheaper where it does. */
static void weigh(anneal *s, double growth)
{
    pl_evict_retain *r = s->r;
    for (int t = 0; t <= r->items->n_op; t++)
        if (r->load[t] > r->budget)
            r->weight[t] *= 1 + growth;
        else
            r->weight[t] = fmax(s->floor, (1 - growth / 4) * r->weight[t]);
    pl_evict_retain_sum(r);
}

bool pl_evict_anneal_run(pl_evict_improve *improve, int64_t steps, double heat, double growth)
{
    pl_evict_retain *r = improve->retain;
    const pl_evict_items *x = r->items;
    pl_arena *tmp = pl_arena_new("evict anneal"), *kept = pl_arena_new("evict anneal best");
    anneal s = { .v = improve, .r = r, .tight = PL_NEW_N(tmp, int, x->n_op + 1) };
    pl_evict_retain_saved *best = pl_evict_retain_save(r, kept);
    bool found = r->n_over == 0;
    double least = found ? r->cost : INFINITY, price = 0, mean = 0;
    for (int t = 0; t < x->n_op; t++) {
        price = fmax(price, improve->price[t]);
        mean += x->problem->seconds[t] / x->n_op;
    }
    s.floor = 0.1 * mean / (double)r->budget;
    for (int t = 0; t <= x->n_op; t++)
        r->weight[t] = fmax(s.floor, t < x->n_op ? improve->price[t] : 0);
    pl_evict_retain_sum(r);
    int64_t first = r->steps;
    for (int64_t m = 0; r->steps - first < steps && (r->cost > 0 || r->n_over > 0); m++) {
        double left = fmax(0, 1 - (double)(r->steps - first) / (double)steps);
        double warm = heat * mean * left * left;
        r->steps += 10;
        pl_evict_retain_accept(r);
        if (m % 64 == 0) list_tight(&s);
        if (m % 128 == 0) weigh(&s, growth * left);
        pl_evict_retain_mark mark = pl_evict_retain_here(r);
        double cost = r->cost + r->over;
        bool moved = draw(&s) < 0.5 ? drop_one(&s) : keep_one(&s);
        if (!moved) continue;
        double is = r->cost + r->over;
        if (is - cost > -warm * log(draw(&s) + 1e-12)) pl_evict_retain_undo(r, mark);
        if (r->n_over > 0 || r->cost >= least * (1 - 1e-12)) continue;
        least = r->cost;
        found = true;
        r->steps += x->n_item;
        pl_arena_free(kept);
        kept = pl_arena_new("evict anneal best");
        best = pl_evict_retain_save(r, kept);
    }
    for (int t = 0; t <= x->n_op; t++) r->weight[t] = 1;
    pl_evict_retain_sum(r);
    if (found) pl_evict_retain_load(r, best);
    pl_evict_retain_accept(r);
    pl_arena_free(kept);
    pl_arena_free(tmp);
    return found;
}
