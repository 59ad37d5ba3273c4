/* Prices of memory by the subgradient method: price() is the bound of one vector of prices with its
 * slope, climb() follows it, knapsack() is where it starts. */
#include "evict/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    int item, from, to;    /* used there, not between                                          */
    int slot;              /* of the first thing its maker reads                               */
    double bytes;          /* in units of the budget's excess (see unit)                       */
    double again, out, in; /* seconds at least; INFINITY: impossible                           */
    double copy, cost;     /* copies by the weights of the lanes; the least of both            */
} pair;

typedef struct dual {
    const pl_evict_items *x;
    const double *weight; /* of compute, copies out, copies in */
    double *
        part; /* [slots] of what a pair's maker reads: the share of its charge that the pair pays */
    int *payer_at, *payer; /* [n_item + 1] pairs that may pay, as slots */
    int *pair_of;          /* [slots]                                   */
    double *gain, *copied; /* [n_pair] left of what it gains; by copies */
    int *until;            /* [n_pair] op up to which it is left out    */
    int n, n_pair;
    pair *pair;
    double *excess, *y, *best, *slope, *sum, *change; /* [n + 1] */
    double unit;                                      /* bytes per unit of excess */
    double value;
} dual;

static double share(const pl_evict_items *x, int item)
{
    int op = x->item[item].born;
    return x->problem->seconds[op] * (double)x->item[item].bytes / (double)x->made[op];
}

static void add_pairs(dual *d, const pl_evict_items *x, bool runs, bool copies, pl_arena *tmp)
{
    const pl_evict_problem *p = x->problem;
    bool link = copies && p->out_bytes_per_s > 0;
    d->pair = PL_NEW_N(tmp, pair, x->use_at[x->n_item] + 2 * x->n_item);
    for (int i = 0; i < x->n_item; i++) {
        const pl_evict_item *m = &x->item[i];
        double bytes = (double)m->bytes;
        int first = d->n_pair, from = m->born;
        if (m->pinned || m->bytes == 0) continue;
        for (int k = x->use_at[i]; k <= x->use_at[i + 1]; k++) {
            bool end = k == x->use_at[i + 1];
            if (end && !m->at_end) break;
            int to = end ? x->n_op : x->use[k];
            if (to > from + 1)
                d->pair[d->n_pair++] = (pair){ .item = i,
                                               .from = from,
                                               .to = to,
                                               .bytes = bytes / d->unit,
                                               .again = runs && m->again ? share(x, i) : INFINITY,
                                               .in = link ? bytes / p->in_bytes_per_s : INFINITY };
            from = to;
        }
        for (int k = first; k < d->n_pair; k++)
            d->pair[k].out = link ? bytes / p->out_bytes_per_s / (d->n_pair - first) : INFINITY;
    }
}

/* Bytes above the budget at the first run of each op. */
static void add_excess(dual *d, const pl_evict_items *x, int64_t budget, pl_arena *tmp)
{
    int64_t *load = PL_NEW_N(tmp, int64_t, x->n_op + 2), most = 1;
    for (int i = 0; i < x->n_item; i++) {
        const pl_evict_item *m = &x->item[i];
        load[m->born < 0 ? 0 : m->born] += m->bytes;
        int gone = m->pinned ? x->n_op + 1 : m->last + 1;
        load[gone <= x->n_op ? gone : x->n_op + 1] -= m->bytes;
    }
    for (int t = 0; t < x->n_op; t++) {
        most = load[t] - budget > most ? load[t] - budget : most;
        load[t + 1] += load[t];
    }
    d->unit = (double)most;
    for (int t = 0; t < x->n_op; t++) d->excess[t] = (double)(load[t] - budget) / d->unit;
}

/* An item that nobody reads after its op `last`, and that a run after op t reads: what that costs
 * at least, the bytes it takes until then, or a run, or a copy. `held`: the bytes it is. */
static double charge(const dual *d, int item, int t, bool *held)
{
    const pl_evict_item *m = &d->x->item[item];
    double keep = (double)m->bytes / d->unit * (d->sum[t + 1] - d->sum[m->last + 1]);
    double make = m->again ? d->weight[0] * share(d->x, item) : INFINITY;
    if (d->weight[0] < 1)
        make = fmin(make, d->weight[2] * (double)m->bytes / d->x->problem->in_bytes_per_s);
    *held = keep < make;
    return fmin(keep, make);
}

static bool is_charged(const dual *d, int item, int t)
{
    const pl_evict_item *m = &d->x->item[item];
    return m->last < t && m->bytes > 0 && !m->pinned;
}

/* What leaving out a pair up to and with op t gains, if it is made again right after. */
static double gain_until(const dual *d, const pair *g, int t)
{
    const pl_evict_items *x = d->x;
    int op = x->item[g->item].born;
    bool held;
    double gain = g->bytes * (d->sum[t + 1] - d->sum[g->from + 1]) - d->weight[0] * g->again;
    for (int k = x->in_at[op]; k < x->in_at[op + 1] && gain > 0; k++)
        if (is_charged(d, x->in[k], t))
            gain -= d->part[g->slot + k - x->in_at[op]] * charge(d, x->in[k], t, &held);
    return gain;
}

/* The slope of gain_until(), taken from that of the bound. */
static void add_slope(dual *d, const pair *g, int t, bool made)
{
    const pl_evict_items *x = d->x;
    int op = x->item[g->item].born;
    bool held;
    d->change[g->from + 1] += g->bytes;
    d->change[t + 1] -= g->bytes;
    for (int k = made ? x->in_at[op] : 0; made && k < x->in_at[op + 1]; k++) {
        int i = x->in[k];
        if (!is_charged(d, i, t)) continue;
        (void)charge(d, i, t, &held);
        if (!held) continue;
        double bytes = (double)x->item[i].bytes / d->unit * d->part[g->slot + k - x->in_at[op]];
        d->change[x->item[i].last + 1] -= bytes;
        d->change[t + 1] += bytes;
    }
}

/* Divides the charge of an item among who may pay for it, equally, but that nobody pays more than
 * it gains: what one does not take the others share. */
static void divide_charge(dual *d, int item)
{
    double left = 1;
    bool held;
    int first = d->payer_at[item], last = d->payer_at[item + 1];
    for (int round = 0; round < 4 && left > 1e-6; round++) {
        int n = 0;
        double each = left;
        for (int pass = 0; pass < 2; pass++) {
            for (int k = first; k < last; k++) {
                const pair *g = &d->pair[d->pair_of[d->payer[k]]];
                double *gain = &d->gain[d->pair_of[d->payer[k]]];
                if (*gain <= 0 || !is_charged(d, item, g->to - 1)) continue;
                n += pass == 0;
                if (pass == 0) continue;
                double whole = charge(d, item, g->to - 1, &held);
                double part = whole * each < *gain ? each : *gain / whole;
                d->part[d->payer[k]] += part;
                *gain -= whole * part;
                left -= part;
            }
            if (n == 0) return;
            each = left / n;
        }
    }
}

static void divide_charges(dual *d)
{
    const pl_evict_items *x = d->x;
    for (int k = 0; k < d->n_pair; k++) {
        const pair *g = &d->pair[k];
        int op = x->item[g->item].born;
        d->gain[k] = 0;
        if (g->again == INFINITY) continue;
        d->gain[k] = g->bytes * (d->sum[g->to] - d->sum[g->from + 1]) - d->weight[0] * g->again;
        for (int i = x->in_at[op]; i < x->in_at[op + 1]; i++)
            d->part[g->slot + i - x->in_at[op]] = 0;
    }
    for (int i = 0; i < x->n_item; i++)
        if (d->payer_at[i] < d->payer_at[i + 1]) divide_charge(d, i);
}

/* Who could pay for an item: pairs of what is made from it. */
static void add_payers(dual *d, pl_arena *tmp)
{
    const pl_evict_items *x = d->x;
    int n = 0;
    d->payer_at = PL_NEW_N(tmp, int, x->n_item + 1);
    for (int k = 0; k < d->n_pair; k++) {
        int op = x->item[d->pair[k].item].born;
        d->pair[k].slot = n;
        for (int i = op < 0 ? 0 : x->in_at[op]; op >= 0 && i < x->in_at[op + 1]; i++, n++)
            d->payer_at[x->in[i] + 1]++;
    }
    for (int i = 0; i < x->n_item; i++) d->payer_at[i + 1] += d->payer_at[i];
    d->payer = PL_NEW_N(tmp, int, n);
    d->pair_of = PL_NEW_N(tmp, int, n);
    d->part = PL_NEW_N(tmp, double, n);
    d->gain = PL_NEW_N(tmp, double, d->n_pair);
    d->copied = PL_NEW_N(tmp, double, d->n_pair);
    d->until = PL_NEW_N(tmp, int, d->n_pair);
    int *fill = PL_NEW_N(tmp, int, x->n_item);
    for (int k = 0; k < d->n_pair; k++) {
        int op = x->item[d->pair[k].item].born;
        for (int i = op < 0 ? 0 : x->in_at[op]; op >= 0 && i < x->in_at[op + 1]; i++) {
            int slot = d->pair[k].slot + i - x->in_at[op];
            d->pair_of[slot] = k;
            d->payer[d->payer_at[x->in[i]] + fill[x->in[i]]++] = slot;
        }
    }
}

/* The most that a pair gains by being left out and made again, at its end or right after the last
 * op that reads one of the things it is made from; *at is the op until which it is left out. */
static double gain_made(const dual *d, const pair *g, int *at)
{
    const pl_evict_items *x = d->x;
    int op = x->item[g->item].born;
    double whole = g->bytes * (d->sum[g->to] - d->sum[g->from + 1]);
    *at = g->to - 1;
    if (g->again == INFINITY || whole <= d->weight[0] * g->again) return 0;
    double best = gain_until(d, g, *at);
    for (int k = x->in_at[op]; k < x->in_at[op + 1]; k++) {
        int last = x->item[x->in[k]].last;
        if (last <= g->from || last >= g->to - 1) continue;
        double gain = gain_until(d, g, last);
        if (gain <= best) continue;
        best = gain;
        *at = last;
    }
    return fmax(best, 0);
}

/* The most that the pairs first .. last - 1 of one item gain: where runs are limited, so are those
 * of them that are made again. */
static double gain_item(dual *d, int first, int last)
{
    int most = d->x->problem->most_runs ? d->x->problem->most_runs - 1 : last - first;
    double sum = 0;
    for (int k = first; k < last; k++) {
        const pair *g = &d->pair[k];
        double whole = g->bytes * (d->sum[g->to] - d->sum[g->from + 1]);
        d->copied[k] = fmax(0, g->copy < INFINITY ? whole - g->copy : 0);
        d->gain[k] = gain_made(d, g, &d->until[k]) - d->copied[k];
    }
    for (int n = 0; n < most; n++) {
        int best = -1;
        for (int k = first; k < last; k++)
            if (d->gain[k] > 0 && (best < 0 || d->gain[k] > d->gain[best])) best = k;
        if (best < 0) break;
        sum += d->gain[best] + d->copied[best];
        add_slope(d, &d->pair[best], d->until[best], true);
        d->gain[best] = d->copied[best] = 0;
    }
    for (int k = first; k < last; k++) {
        if (d->copied[k] <= 0) continue;
        sum += d->copied[k];
        add_slope(d, &d->pair[k], d->pair[k].to - 1, false);
    }
    return sum;
}

/* The bound of d->y, without the seconds of one run of each op; its slope. */
static double price(dual *d)
{
    double value = 0, covered = 0;
    d->sum[0] = 0;
    for (int t = 0; t < d->n; t++) {
        d->sum[t + 1] = d->sum[t] + d->y[t];
        d->slope[t] = d->excess[t];
        value += d->y[t] * d->excess[t];
    }
    memset(d->change, 0, sizeof *d->change * (size_t)(d->n + 1));
    divide_charges(d);
    for (int k = 0, next; k < d->n_pair; k = next) {
        for (next = k + 1; next < d->n_pair && d->pair[next].item == d->pair[k].item;) next++;
        value -= gain_item(d, k, next);
    }
    for (int t = 0; t < d->n; t++) {
        covered += d->change[t];
        d->slope[t] -= covered;
    }
    return value;
}

static int compare_ratios(const void *a, const void *b)
{
    const pair *const *p = a, *const *q = b;
    double x = (*p)->cost / (*p)->bytes, y = (*q)->cost / (*q)->bytes;
    return (x > y) - (x < y);
}

/* The best bound of one step alone: the pairs around it by cost per byte until the excess is
 * covered, the last by a fraction, whose ratio is the price. */
static double knapsack(dual *d, pl_arena *tmp)
{
    pair **sorted = PL_NEW_N(tmp, pair *, d->n_pair + 1);
    double best = 0, ratio = 0;
    int at = -1;
    for (int k = 0; k < d->n_pair; k++) sorted[k] = &d->pair[k];
    if (d->n_pair > 0) qsort(sorted, (size_t)d->n_pair, sizeof *sorted, compare_ratios);
    for (int t = 0; t < d->n; t++) {
        double left = d->excess[t], cost = 0, last = 0;
        for (int k = 0; k < d->n_pair && left > 0; k++) {
            const pair *g = sorted[k];
            if (g->from >= t || g->to <= t) continue;
            if (g->cost == INFINITY) break; /* what fits then is not for this bound to say */
            last = g->cost / g->bytes;
            cost += g->bytes < left ? g->cost : last * left;
            left -= g->bytes;
        }
        if (cost > best) {
            best = cost;
            ratio = last;
            at = t;
        }
    }
    memset(d->y, 0, sizeof *d->y * (size_t)(d->n + 1));
    if (at >= 0) d->y[at] = ratio;
    return best;
}

/* Steps along the slope, of a length that aims a little above the best so far (Polyak); where
 * nothing better is found for a while it aims lower, from the best. */
static void climb(dual *d, int rounds)
{
    double aim = 0.5;
    int idle = 0;
    double value = price(d);
    d->value = value;
    memcpy(d->best, d->y, sizeof *d->y * (size_t)d->n);
    for (int round = 0; round < rounds && d->value > 0; round++) {
        double norm = 0;
        for (int t = 0; t < d->n; t++) {
            if (d->y[t] <= 0 && d->slope[t] < 0) d->slope[t] = 0;
            norm += d->slope[t] * d->slope[t];
        }
        if (norm == 0) break;
        double step = (d->value * (1 + aim) - value) / norm;
        for (int t = 0; t < d->n; t++) d->y[t] = fmax(0, d->y[t] + step * d->slope[t]);
        value = price(d);
        if (value > d->value * (1 + 1e-9)) {
            idle = value > d->value * (1 + 0.05 * aim) ? 0 : idle;
            d->value = value;
            memcpy(d->best, d->y, sizeof *d->y * (size_t)d->n);
        }
        if (++idle < 20) continue;
        idle = 0;
        aim *= 0.7;
        memcpy(d->y, d->best, sizeof *d->y * (size_t)d->n);
        value = price(d);
    }
}

/* Weights of compute, copies out and copies in; they add up to 1. */
static const double weight_table[][3] = {
    { 1, 0, 0 },     { 0.8, 0.1, 0.1 },   { 0.6, 0.2, 0.2 }, { 0.5, 0.5, 0 }, { 0.5, 0.25, 0.25 },
    { 0.5, 0, 0.5 }, { 0.3, 0.35, 0.35 }, { 0, 0.5, 0.5 },   { 0, 1, 0 },     { 0, 0, 1 },
};

static void weigh(dual *d, const double w[3])
{
    for (int k = 0; k < d->n_pair; k++) {
        pair *g = &d->pair[k];
        g->copy = g->out < INFINITY ? w[1] * g->out + w[2] * g->in : INFINITY;
        g->cost = fmin(g->again < INFINITY ? w[0] * g->again : INFINITY, g->copy);
    }
    d->weight = w;
}

pl_evict_bound pl_evict_bound_find(const pl_evict_items *items, int64_t budget, bool runs,
                                   bool copies, int rounds, pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("evict bound");
    int n = items->n_op;
    bool link = copies && items->problem->out_bytes_per_s > 0;
    dual d = { .x = items,
               .n = n,
               .excess = PL_NEW_N(tmp, double, n + 1),
               .y = PL_NEW_N(tmp, double, n + 1),
               .best = PL_NEW_N(tmp, double, n + 1),
               .slope = PL_NEW_N(tmp, double, n + 1),
               .sum = PL_NEW_N(tmp, double, n + 1),
               .change = PL_NEW_N(tmp, double, n + 1) };
    pl_evict_bound bound = { .price = PL_NEW_N(arena, double, n) };
    double base = 0;
    for (int t = 0; t < n; t++) base += items->problem->seconds[t];
    add_excess(&d, items, budget, tmp);
    add_pairs(&d, items, runs, copies, tmp);
    add_payers(&d, tmp);
    bound.seconds = bound.knapsack = base;
    int n_weights = link ? (int)(sizeof weight_table / sizeof *weight_table) : 1;
    for (int w = 0; w < n_weights; w++) {
        weigh(&d, weight_table[w]);
        double one = weight_table[w][0] * base + knapsack(&d, tmp);
        climb(&d, rounds);
        double all = weight_table[w][0] * base + d.value;
        bound.knapsack = fmax(bound.knapsack, one);
        bound.seconds = fmax(bound.seconds, fmax(one, all));
        if (w == 0)
            for (int t = 0; t < n; t++) bound.price[t] = d.best[t] / d.unit;
    }
    pl_arena_free(tmp);
    return bound;
}
