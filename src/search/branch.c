/* A part of the choices under a cap. Read pl_branch_bound(): rounds of passes (pl_branch_raise)
 * and new prices, where the lines of the two choices on either side of the cap meet
 * (next_price). Choices found on the way go to the pool (pl_pool_offer). */
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

static double best_time(const pl_pool *h)
{
    return h->best.value ? h->best.cost.time : INFINITY;
}

double pl_pool_goal(const pl_pool *pool)
{
    return pl_solve_goal(best_time(pool), pool->options);
}

bool pl_branch_is_closed(const pl_pool *pool, const pl_branch *branch)
{
    return branch->bound >= pl_pool_goal(pool);
}

double pl_branch_gap(const pl_pool *pool, const pl_branch *branch)
{
    return fmin(best_time(pool) - branch->bound, fabs(branch->bound));
}

static double line_at(pl_cost c, double price)
{
    return c.time + price * c.memory;
}

void pl_pool_offer(pl_pool *pool, pl_branch *branch, const int *value)
{
    int n = pool->sum->n;
    pl_solution p = { NULL, pl_sum_cost(pool->sum, value) };
    if (!pl_net_is_legal(p.cost.time)) return;
    p.value = PL_NEW_N(pool->arena, int, n);
    memcpy(p.value, value, (size_t)n * sizeof *value);
    pool->known[pool->n_known++ % PL_POOL_KNOWN] = p.value;
    bool fits = p.cost.memory <= pool->cap;
    pl_solution *side = fits ? &branch->under : &branch->over;
    if (!side->value || line_at(p.cost, branch->price) < line_at(side->cost, branch->price))
        *side = p;
    if (branch->under.value && branch->over.cost.time >= branch->under.cost.time)
        branch->over.value = NULL;
    if (fits && p.cost.time < best_time(pool)) pool->best = p;
}

/* The choice that the passes made on the way. */
static void offer_pick(pl_pool *pool, pl_branch *branch, int *pick)
{
    const pl_net *net = branch->net;
    pl_net_descend(branch->net, pick, 4);
    for (int v = 0; v < net->n; v++) pick[v] = net->value[v][pick[v]];
    pl_pool_offer(pool, branch, pick);
}

/* A choice from the values nearest to the bound, about two per variable. */
static void offer_near(pl_pool *pool, pl_branch *branch)
{
    pl_arena *tmp = pl_arena_new("search near");
    const pl_net *net = branch->net;
    pl_net *few = pl_solve_below(net, pl_solve_threshold(net, 2, tmp), tmp);
    if (few) {
        pl_search_options options = *pool->options;
        options.gap = fmax(options.gap, NEAR_GAP);
        options.no_dominance = true;
        options.node_limit = 1;
        options.start = NULL;
        options.effort = pool->work / 8 + 1;
        few->work = 0;
        pl_minimum found = pl_solve_net(few, &options, tmp);
        pool->work += found.work;
        if (found.value) pl_pool_offer(pool, branch, found.value);
    }
    pl_arena_free(tmp);
}

/* Values that are in no better choice go, if they are many. */
static void shrink(pl_pool *pool, pl_branch *branch)
{
    const pl_net *net = branch->net;
    double most = pl_pool_goal(pool) + branch->price * pool->cap;
    bool **keep = pl_net_keeps(net, branch->arena);
    int n = 0, gone = 0;
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++, n++) {
            keep[v][i] = net->least[v][i] <= most;
            gone += !keep[v][i];
        }
    if (gone * 16 < n) return;
    branch->net = pl_net_keep(net, keep, NULL, true, branch->arena);
    if (!branch->net) branch->bound = pl_pool_goal(pool);
    if (branch->net) pool->work += branch->net->work, branch->net->work = 0;
}

void pl_branch_reprice(pl_branch *branch, double price)
{
    pl_net *net = branch->net;
    double by = price - branch->price;
    branch->price = price;
    net->settled = false;
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++) {
            net->least[v][i] = -INFINITY;
            if (net->memory[v]) net->unary[v][i] += by * net->memory[v][i];
        }
    for (int p = 0; p < net->n_edges; p++) {
        pl_net_table *t = &net->edge[p].table;
        size_t n = (size_t)t->rows * (size_t)t->cols;
        if (!t->memory) continue;
        double *cost =
            pl_arena_get(branch->arena, n, sizeof *cost); /* others may share the old one */
        for (size_t i = 0; i < n; i++) cost[i] = t->cost[i] + by * t->memory[i];
        t->cost = cost;
    }
}

/* The nearer the cap to the least memory, the more memory costs. */
static double first_price(const pl_pool *h, double time, double memory)
{
    double narrow = sqrt((memory - h->least) / (h->cap - h->least));
    return FIRST_PRICE * time / memory * (narrow < MOST_NARROW ? fmax(narrow, 1) : MOST_NARROW);
}

void pl_branch_begin(pl_pool *pool, pl_branch *branch)
{
    pl_net *net = branch->net;
    int *pick = PL_NEW_N(branch->arena, int, net->n);
    pl_net_pass(net, true, NULL);
    pl_net_pass(net, false, pick);
    branch->bound = net->bound;
    pool->work += net->work + (int64_t)VARIABLE_WORK * net->n;
    net->work = 0;
    offer_pick(pool, branch, pick);
    if (branch->over.value)
        pl_branch_reprice(branch, first_price(pool, fabs(branch->bound), branch->over.cost.memory));
}

double pl_branch_raise(pl_pool *pool, pl_branch *branch)
{
    pl_net *net = branch->net;
    int *pick = PL_NEW_N(branch->arena, int, net->n);
    if (!net->settled) { /* what these gain makes up for a new price */
        pl_net_pass(net, true, NULL);
        pl_net_pass(net, false, NULL);
    }
    double before = net->bound;
    pl_net_round(net, pick);
    branch->bound = fmax(branch->bound, net->bound - branch->price * pool->cap);
    double rise = net->bound - before;
    pool->work += net->work + (int64_t)VARIABLE_WORK * net->n;
    net->work = 0;
    offer_pick(pool, branch, pick);
    bool stalls = rise < 0.1 * pl_branch_gap(pool, branch) && pl_solve_entries(net) < MOST_NEAR;
    if (!pl_branch_is_closed(pool, branch) && stalls) offer_near(pool, branch);
    if (!pl_branch_is_closed(pool, branch)) shrink(pool, branch);
    return rise;
}

/* Where the lines of the two choices meet; until there are two, prices that rise or fall. */
static double next_price(const pl_branch *branch, int tries)
{
    pl_cost over = branch->over.cost, under = branch->under.cost;
    if (!branch->over.value && !branch->under.value)
        return branch->price; /* nothing legal was found */
    if (!branch->over.value) return tries < 3 ? branch->price / 4 : 0;
    if (!branch->under.value) {
        double start = over.time > 0 ? FIRST_PRICE * over.time / over.memory : 1 / over.memory;
        return fmin(fmax(4 * branch->price, start), MOST_PRICE * start);
    }
    return (under.time - over.time) / (over.memory - under.memory);
}

void pl_branch_bound(pl_pool *pool, pl_branch *branch, bool root, int rounds, int64_t most)
{
    for (int i = 0; i < rounds && !pl_branch_is_closed(pool, branch); i++) {
        double rise = pl_branch_raise(pool, branch), gap = pl_branch_gap(pool, branch);
        if (pl_branch_is_closed(pool, branch) || (pool->best.value && pool->work > most)) return;
        bool early = rise > 0.1 * gap && branch->over.value && branch->under.value;
        double price = early ? branch->price : next_price(branch, i);
        if (fabs(price - branch->price) > 0.01 * branch->price) {
            if (i + 1 == rounds) return;
            pl_branch_reprice(branch, price);
        } else if (i && rise <= fmin(0.05 * gap, root ? 0.0003 * fabs(branch->bound) : INFINITY)) {
            return;
        }
    }
}

bool pl_branch_eliminate(pl_pool *pool, pl_branch *branch)
{
    if (pool->options->no_mixing) return false;
    pl_mix mix = { .price = branch->price,
                   .cap = pool->cap,
                   .options = pool->options,
                   .value = pool->best.value,
                   .cost = pool->best.cost,
                   .most = branch->tried,
                   .labels = MOST_LABELS,
                   .front = pool->options->front };
    bool all = pl_mix_net(pool->sum, branch->net, &mix, pool->arena);
    if (!all) branch->tried = fmin(branch->tried, mix.entries / 4);
    pool->best = (pl_solution){ mix.value, mix.cost };
    pool->work += LABEL_WORK * mix.work;
    return all;
}

/* Of the last n choices known and the incumbent; a variable that has lost all those values gets the
 * one nearest to the bound. False: that was too much work. */
static bool mix_last(pl_pool *pool, pl_branch *branch, int n)
{
    pl_arena *tmp = pl_arena_new("mixtures");
    const pl_net *net = branch->net;
    bool **keep = PL_NEW_N(tmp, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        int nearest = 0, at = pl_net_place(net, v, pool->best.value);
        keep[v] = PL_NEW_N(tmp, bool, net->size[v]);
        bool any = at >= 0;
        if (any) keep[v][at] = true;
        for (int i = 0; i < net->size[v]; i++) {
            for (int k = 1; k <= n; k++)
                keep[v][i] |=
                    pool->known[(pool->n_known - k) % PL_POOL_KNOWN][v] == net->value[v][i];
            any |= keep[v][i];
            if (net->least[v][i] < net->least[v][nearest]) nearest = i;
        }
        if (!any) keep[v][nearest] = true;
    }
    pl_net *few = pl_net_keep(net, keep, NULL, true, tmp);
    pl_mix mix = { .price = branch->price,
                   .cap = pool->cap,
                   .options = pool->options,
                   .value = pool->best.value,
                   .cost = pool->best.cost,
                   .most = MOST_MIXED,
                   .labels = MIXED_LABELS,
                   .front = FEW_LABELS };
    if (few) pl_mix_net(pool->sum, few, &mix, pool->arena);
    pool->best = (pl_solution){ mix.value, mix.cost };
    pool->work += LABEL_WORK * mix.work;
    pl_arena_free(tmp);
    return !mix.stopped;
}

/* Few choices first: the better the incumbent, the fewer labels there are. */
void pl_branch_mix(pl_pool *pool, pl_branch *branch, int most)
{
    if (most > PL_POOL_KNOWN) most = PL_POOL_KNOWN;
    for (int n = 2; n <= most && n < 2 * pool->n_known; n *= 2)
        if (!mix_last(pool, branch, n < pool->n_known ? n : pool->n_known)) break;
}
