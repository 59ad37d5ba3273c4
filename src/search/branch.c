#include "search/branch.h"
#include "search/mix.h"

#include <string.h>

/* The first price that is tried lets all memory cost so much of the time; that many times it, time
 * would be lost in roundings. */
static const double FIRST_PRICE = 0.25, MOST_PRICE = 1e5, MOST_NARROW = 1e3;

/* What a choice from the values near the bound may cost above the least. */
static const double NEAR_GAP = 1e-3;

/* What making a label takes, and what a variable takes in a round, next to reading an entry. */
enum { LABEL_WORK = 24, VARIABLE_WORK = 1024 };

/* Entries and labels of an elimination of known choices, of all. */
enum { MOST_MIXED = 1 << 15, MIXED_LABELS = 1 << 19, MOST_LABELS = 1 << 21, FEW_LABELS = 32 };

/* Entries of tables among which a choice near the bound is sought. */
enum { MOST_NEAR = 1 << 20 };

static double best_time(const pl_hunt *h)
{
    return h->best.value ? h->best.cost.time : INFINITY;
}

double pl_hunt_goal(const pl_hunt *h)
{
    return pl_solve_goal(best_time(h), h->o);
}

bool pl_branch_is_closed(const pl_hunt *h, const pl_branch *x)
{
    return x->bound >= pl_hunt_goal(h);
}

double pl_branch_gap(const pl_hunt *h, const pl_branch *x)
{
    return fmin(best_time(h) - x->bound, fabs(x->bound));
}

static double line_at(pl_cost c, double price)
{
    return c.time + price * c.memory;
}

void pl_hunt_offer(pl_hunt *h, pl_branch *x, const int *value)
{
    int n = h->s->n;
    pl_solution p = { NULL, pl_sum_cost(h->s, value) };
    if (!pl_net_is_legal(p.cost.time)) return;
    p.value = PL_NEW_N(h->arena, int, n);
    memcpy(p.value, value, (size_t)n * sizeof *value);
    h->known[h->n_known++ % PL_HUNT_KNOWN] = p.value;
    bool fits = p.cost.memory <= h->cap;
    pl_solution *side = fits ? &x->under : &x->over;
    if (!side->value || line_at(p.cost, x->price) < line_at(side->cost, x->price)) *side = p;
    if (x->under.value && x->over.cost.time >= x->under.cost.time) x->over.value = NULL;
    if (fits && p.cost.time < best_time(h)) h->best = p;
}

/* The choice that the passes made on the way. */
static void offer_pick(pl_hunt *h, pl_branch *x, int *pick)
{
    const pl_net *net = x->net;
    pl_net_descend(x->net, pick, 4);
    for (int v = 0; v < net->n; v++) pick[v] = net->value[v][pick[v]];
    pl_hunt_offer(h, x, pick);
}

/* A choice from the values nearest to the bound, about two per variable. */
static void offer_near(pl_hunt *h, pl_branch *x)
{
    pl_arena *tmp = pl_arena_new("search near");
    const pl_net *net = x->net;
    pl_net *few = pl_solve_below(net, pl_solve_threshold(net, 2, tmp), tmp);
    if (few) {
        pl_search_options o = *h->o;
        o.gap = fmax(o.gap, NEAR_GAP);
        o.no_dominance = true;
        o.node_limit = 1;
        o.start = NULL;
        o.effort = h->work / 8 + 1;
        few->work = 0;
        pl_elimination f = pl_solve_net(few, &o, tmp);
        h->work += f.work;
        if (f.value) pl_hunt_offer(h, x, f.value);
    }
    pl_arena_free(tmp);
}

/* Values that are in no better choice go, if they are many. */
static void shrink(pl_hunt *h, pl_branch *x)
{
    const pl_net *net = x->net;
    double most = pl_hunt_goal(h) + x->price * h->cap;
    bool **keep = pl_net_keeps(net, x->arena);
    int n = 0, gone = 0;
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++, n++) {
            keep[v][i] = net->least[v][i] <= most;
            gone += !keep[v][i];
        }
    if (gone * 16 < n) return;
    x->net = pl_net_keep(net, keep, NULL, true, x->arena);
    if (!x->net) x->bound = pl_hunt_goal(h);
    if (x->net) h->work += x->net->work, x->net->work = 0;
}

void pl_branch_reprice(pl_branch *x, double price)
{
    pl_net *net = x->net;
    double by = price - x->price;
    x->price = price;
    net->settled = false;
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++) {
            net->least[v][i] = -INFINITY;
            if (net->memory[v]) net->unary[v][i] += by * net->memory[v][i];
        }
    for (int p = 0; p < net->n_pairs; p++) {
        pl_net_table *t = &net->pair[p].table;
        size_t n = (size_t)t->rows * (size_t)t->cols;
        if (!t->memory) continue;
        double *cost = pl_arena_get(x->arena, n, sizeof *cost); /* others may share the old one */
        for (size_t i = 0; i < n; i++) cost[i] = t->cost[i] + by * t->memory[i];
        t->cost = cost;
    }
}

/* The nearer the cap to the least memory, the more memory costs. */
static double first_price(const pl_hunt *h, double time, double memory)
{
    double narrow = sqrt((memory - h->least) / (h->cap - h->least));
    return FIRST_PRICE * time / memory * (narrow < MOST_NARROW ? fmax(narrow, 1) : MOST_NARROW);
}

void pl_branch_begin(pl_hunt *h, pl_branch *x)
{
    pl_net *net = x->net;
    int *pick = PL_NEW_N(x->arena, int, net->n);
    pl_net_pass(net, true, NULL);
    pl_net_pass(net, false, pick);
    x->bound = net->bound;
    h->work += net->work + (int64_t)VARIABLE_WORK * net->n;
    net->work = 0;
    offer_pick(h, x, pick);
    if (x->over.value) pl_branch_reprice(x, first_price(h, fabs(x->bound), x->over.cost.memory));
}

double pl_branch_raise(pl_hunt *h, pl_branch *x)
{
    pl_net *net = x->net;
    int *pick = PL_NEW_N(x->arena, int, net->n);
    if (!net->settled) { /* what these gain makes up for a new price */
        pl_net_pass(net, true, NULL);
        pl_net_pass(net, false, NULL);
    }
    double before = net->bound;
    pl_net_climb(net, pick);
    x->bound = fmax(x->bound, net->bound - x->price * h->cap);
    double rise = net->bound - before;
    h->work += net->work + (int64_t)VARIABLE_WORK * net->n;
    net->work = 0;
    offer_pick(h, x, pick);
    bool stalls = rise < 0.1 * pl_branch_gap(h, x) && pl_solve_entries(net) < MOST_NEAR;
    if (!pl_branch_is_closed(h, x) && stalls) offer_near(h, x);
    if (!pl_branch_is_closed(h, x)) shrink(h, x);
    return rise;
}

/* Where the lines of the two choices meet; until there are two, prices that rise or fall. */
static double next_price(const pl_branch *x, int tries)
{
    pl_cost over = x->over.cost, under = x->under.cost;
    if (!x->over.value && !x->under.value) return x->price; /* nothing legal was found */
    if (!x->over.value) return tries < 3 ? x->price / 4 : 0;
    if (!x->under.value) {
        double start = over.time > 0 ? FIRST_PRICE * over.time / over.memory : 1 / over.memory;
        return fmin(fmax(4 * x->price, start), MOST_PRICE * start);
    }
    return (under.time - over.time) / (over.memory - under.memory);
}

void pl_branch_bound(pl_hunt *h, pl_branch *x, bool root, int rounds, int64_t most)
{
    for (int i = 0; i < rounds && !pl_branch_is_closed(h, x); i++) {
        double rise = pl_branch_raise(h, x), gap = pl_branch_gap(h, x);
        if (pl_branch_is_closed(h, x) || (h->best.value && h->work > most)) return;
        bool early = rise > 0.1 * gap && x->over.value && x->under.value;
        double price = early ? x->price : next_price(x, i);
        if (fabs(price - x->price) > 0.01 * x->price) {
            if (i + 1 == rounds) return;
            pl_branch_reprice(x, price);
        } else if (i && rise <= fmin(0.05 * gap, root ? 0.0003 * fabs(x->bound) : INFINITY)) {
            return;
        }
    }
}

bool pl_branch_eliminate(pl_hunt *h, pl_branch *x)
{
    if (h->o->no_mixing) return false;
    pl_mix m = { .price = x->price,
                 .cap = h->cap,
                 .o = h->o,
                 .value = h->best.value,
                 .cost = h->best.cost,
                 .most = x->tried,
                 .labels = MOST_LABELS,
                 .front = h->o->front };
    bool all = pl_mix_net(h->s, x->net, &m, h->arena);
    if (!all) x->tried = fmin(x->tried, m.entries / 4);
    h->best = (pl_solution){ m.value, m.cost };
    h->work += LABEL_WORK * m.work;
    return all;
}

/* Of the last n choices known and the incumbent; a variable that has lost all those values gets the
 * one nearest to the bound. False: that was too much work. */
static bool mix_last(pl_hunt *h, pl_branch *x, int n)
{
    pl_arena *tmp = pl_arena_new("mixtures");
    const pl_net *net = x->net;
    bool **keep = PL_NEW_N(tmp, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        int nearest = 0, at = pl_net_place(net, v, h->best.value);
        keep[v] = PL_NEW_N(tmp, bool, net->size[v]);
        bool any = at >= 0;
        if (any) keep[v][at] = true;
        for (int i = 0; i < net->size[v]; i++) {
            for (int k = 1; k <= n; k++)
                keep[v][i] |= h->known[(h->n_known - k) % PL_HUNT_KNOWN][v] == net->value[v][i];
            any |= keep[v][i];
            if (net->least[v][i] < net->least[v][nearest]) nearest = i;
        }
        if (!any) keep[v][nearest] = true;
    }
    pl_net *few = pl_net_keep(net, keep, NULL, true, tmp);
    pl_mix m = { .price = x->price,
                 .cap = h->cap,
                 .o = h->o,
                 .value = h->best.value,
                 .cost = h->best.cost,
                 .most = MOST_MIXED,
                 .labels = MIXED_LABELS,
                 .front = FEW_LABELS };
    if (few) pl_mix_net(h->s, few, &m, h->arena);
    h->best = (pl_solution){ m.value, m.cost };
    h->work += LABEL_WORK * m.work;
    pl_arena_free(tmp);
    return !m.stopped;
}

/* Few choices first: the better the incumbent, the fewer labels there are. */
void pl_branch_mix(pl_hunt *h, pl_branch *x, int most)
{
    if (most > PL_HUNT_KNOWN) most = PL_HUNT_KNOWN;
    for (int n = 2; n <= most && n < 2 * h->n_known; n *= 2)
        if (!mix_last(h, x, n < h->n_known ? n : h->n_known)) break;
}
