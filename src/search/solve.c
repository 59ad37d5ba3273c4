/* The least sum without a cap. Read search(): passes raise the bound, values above it go, then
 * dominance, then elimination where tables are small enough (eliminate), else branching
 * (branch). */
#include "search/reduce.h"
#include "search/solve.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One search: the incumbent and the limits are shared by all branches. */
typedef struct solver {
    const pl_search_options *options;
    int n;
    int *value; /* the incumbent, in value numbers */
    double best;
    int64_t nodes, work, stop; /* `stop`: the work at which it ends with what is known */
} solver;

pl_search_options pl_solve_defaults(const pl_search_options *options)
{
    pl_search_options d = options ? *options : (pl_search_options){ 0 };
    if (d.gap <= 0) d.gap = 9e-10;
    if (d.passes < 2) d.passes = d.passes ? 2 : 1 << 14;
    if (!d.front) d.front = 1024;
    if (!d.table_limit) d.table_limit = 1 << 20;
    if (!d.work_limit) d.work_limit = 1 << 26;
    if (!d.node_limit) d.node_limit = 1000;
    if (!d.effort) d.effort = 1 << 29;
    return d;
}

static const double *reduced_row(const pl_net *net, int v, pl_arena *arena)
{
    double *row = PL_NEW_N(arena, double, net->size[v]);
    memcpy(row, net->unary[v], (size_t)net->size[v] * sizeof *row);
    for (int i = net->first[v]; i < net->first[v + 1]; i++) {
        const pl_net_edge *e = &net->edge[net->incident[i]];
        for (int x = 0; x < net->size[v]; x++) row[x] += e->a == v ? e->to_a[x] : e->to_b[x];
    }
    return row;
}

pl_eliminate *pl_solve_tables(const pl_net *net, pl_arena *arena)
{
    pl_eliminate *e = pl_eliminate_new(net->n, net->size, arena);
    int *scope = PL_NEW_N(arena, int, net->n + 2 * net->n_edges);
    e->constant = net->bound;
    for (int v = 0; v < net->n; v++) {
        *scope = v;
        pl_eliminate_add(e, 1, scope++, reduced_row(net, v, arena));
    }
    for (int p = 0; p < net->n_edges; p++, scope += 2) {
        const pl_net_edge *f = &net->edge[p];
        int rows = f->table.rows, cols = f->table.cols;
        double *cost = pl_arena_get(arena, (size_t)rows * (size_t)cols, sizeof *cost), *to = cost;
        for (int x = 0; x < rows; x++)
            for (int y = 0; y < cols; y++)
                *to++ = f->table.cost[(size_t)x * (size_t)f->table.cols + (size_t)y] - f->to_a[x] -
                        f->to_b[y];
        scope[0] = f->a;
        scope[1] = f->b;
        pl_eliminate_add(e, 2, scope, cost);
    }
    return e;
}

pl_net *pl_solve_below(const pl_net *net, double most, pl_arena *arena)
{
    bool **keep = pl_net_keeps(net, arena);
    for (int v = 0; v < net->n; v++)
        for (int x = 0; x < net->size[v]; x++) keep[v][x] = net->least[v][x] <= most;
    return pl_net_keep(net, keep, NULL, true, arena);
}

double pl_solve_entries(const pl_net *net)
{
    double sum = 0;
    for (int p = 0; p < net->n_edges; p++)
        sum += (double)net->edge[p].table.rows * net->edge[p].table.cols;
    return sum;
}

/* Dominance reads a table for each of a few rivals: not before passes have read it as often. */
bool pl_solve_may_dominate(const pl_net *net, int64_t work, const pl_search_options *options)
{
    return !options->no_dominance && (double)work >= 4 * PL_NET_RIVALS * pl_solve_entries(net);
}

/* A second round sees what the first one opened; more rarely pay. */
static pl_net *dominate(pl_net *net, const bool *fixed, const pl_search_options *options,
                        pl_arena *arena)
{
    for (int round = 0; net && !options->no_dominance && round < 2; round++) {
        bool **keep = pl_net_keeps(net, arena);
        if (!pl_net_dominate(net, fixed, keep)) break;
        net = pl_net_keep(net, keep, fixed, true, arena);
    }
    return net;
}

pl_net *pl_solve_cut(const pl_net *net, const bool *fixed, const pl_search_options *options,
                     pl_arena *arena)
{
    pl_net *cut = pl_net_keep(net, pl_net_keeps(net, arena), fixed, true, arena);
    return dominate(cut, fixed, options, arena);
}

/* Takes places of a net as the incumbent if they are better. */
static void offer(solver *s, const pl_net *net, const int *index)
{
    double cost = pl_net_cost(net, index);
    if (!pl_net_is_legal(cost) || cost >= s->best) return;
    s->best = cost;
    for (int v = 0; v < s->n; v++) s->value[v] = net->value[v][index[v]];
}

bool pl_solve_goes_on(pl_solve_pace *pace, double bound, double best)
{
    if (++pace->n < pace->next) return true;
    double gain = bound - pace->bound, gap = best - bound;
    pace->next = 2 * pace->n;
    pace->bound = bound;
    return gain > fmin(0.1 * gap, 1e-3 * fabs(bound));
}

bool pl_solve_is_late(const pl_search_options *options)
{
    return options->until > 0 && pl_clock_now() > options->until;
}

static bool is_spent(const solver *s, const pl_net *net)
{
    return s->nodes >= s->options->node_limit || s->work + net->work >= s->stop ||
           (isfinite(s->best) && pl_solve_is_late(s->options));
}

/* Rounds of passes up to the next look at whether they pay; choices made on the way are offered. */
static bool raise_bound(solver *s, pl_net *net, pl_solve_pace *pace)
{
    pl_arena *tmp = pl_arena_new("search passes");
    int *pick = PL_NEW_N(tmp, int, net->n);
    bool pays = true;
    for (bool looked = false; pays && !looked && !is_spent(s, net);) {
        looked = pace->n + 1 >= pace->next;
        pl_net_round(net, pick);
        pl_net_descend(net, pick, 4);
        offer(s, net, pick);
        pays = net->bound < pl_solve_goal(s->best, s->options) &&
               pl_solve_goes_on(pace, net->bound, s->best) && 6 * pace->n < s->options->passes;
    }
    pl_arena_free(tmp);
    return pays && !is_spent(s, net);
}

/* A net so much work away from `work_limit` does not come near it by dominance. */
static const double FAR = 1e4;

static pl_order find_order(const pl_net *net, double most_work, pl_arena *arena)
{
    pl_sum_table *table = PL_NEW_N(arena, pl_sum_table, net->n_edges);
    int *scope = PL_NEW_N(arena, int, 2 * net->n_edges);
    for (int p = 0; p < net->n_edges; p++, scope += 2) {
        scope[0] = net->edge[p].a;
        scope[1] = net->edge[p].b;
        table[p] = (pl_sum_table){ 2, scope, NULL };
    }
    return pl_order_find(net->n, net->size, net->n_edges, table, NULL, most_work, arena);
}

static void eliminate_all(solver *s, const pl_net *net, pl_order order, pl_arena *arena)
{
    int *index = PL_NEW_N(arena, int, net->n);
    pl_eliminate *e = pl_solve_tables(net, arena);
    pl_eliminate_run(e, order);
    pl_eliminate_trace(e, index);
    s->work += e->work;
    offer(s, net, index);
}

/* Eliminates what costs at most `most`, if the tables are small enough, be it after dominance. */
static bool eliminate(solver *s, const pl_net *net, double most, double work_limit, bool dominating)
{
    pl_arena *tmp = pl_arena_new("search elimination");
    pl_net *cut = pl_solve_below(net, most, tmp);
    bool fits = !cut;
    for (int i = 0; cut && !fits && i < 1 + dominating; i++) {
        if (i && !pl_solve_may_dominate(cut, s->work, s->options)) break;
        if (i) cut = dominate(cut, NULL, s->options, tmp);
        fits = !cut;
        if (fits) break;
        pl_order order = find_order(cut, dominating ? FAR * work_limit : work_limit, tmp);
        fits = order.most <= (double)s->options->table_limit && order.work <= work_limit;
        if (fits) eliminate_all(s, cut, order, tmp);
        if (isinf(order.work)) break;
    }
    if (cut) s->work += cut->work - net->work;
    pl_arena_free(tmp);
    return fits;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pl_solve_nth(double *least, int n, double at)
{
    qsort(least, (size_t)n, sizeof *least, compare);
    return n ? least[at < n - 1 ? (int)at : n - 1] : INFINITY;
}

double pl_solve_threshold(const pl_net *net, double each, pl_arena *arena)
{
    int n = 0, n_open = 0;
    for (int v = 0; v < net->n; v++) n += net->size[v];
    double *least = PL_NEW_N(arena, double, n + 1);
    n = 0;
    for (int v = 0; v < net->n; v++) {
        n_open += net->size[v] > 1;
        for (int x = 0; net->size[v] > 1 && x < net->size[v]; x++) least[n++] = net->least[v][x];
    }
    return fmax(pl_solve_nth(least, n, each * n_open), net->bound);
}

/* The exact answer among the values nearest to the bound, a few per variable or fewer. When it
 * costs no more than any other value does, it is the least of all. Returns a bound. */
static double eliminate_near(solver *s, const pl_net *net)
{
    static const double each[] = { 8, 4, 2, 1.3, 1 };
    double tried = INFINITY, proven = -INFINITY;
    pl_arena *tmp = pl_arena_new("search near");
    for (size_t i = 0; i < sizeof each / sizeof *each && isinf(proven); i++) {
        double most = pl_solve_threshold(net, each[i], tmp);
        most = fmin(most, pl_solve_goal(s->best, s->options));
        if (most < tried && eliminate(s, net, most, (double)s->options->work_limit / 64, true))
            proven = most;
        tried = most;
    }
    pl_arena_free(tmp);
    return proven;
}

static int find_branch(const pl_net *net)
{
    int best = -1;
    double most = 0;
    for (int v = 0; v < net->n; v++) {
        double score = log2(net->size[v]) * (net->first[v + 1] - net->first[v]);
        if (score > most) {
            most = score;
            best = v;
        }
    }
    return best;
}

/* What is searched: a part of the values is for a better incumbent only. */
typedef enum part { WHOLE, BRANCH, PART } part;

static double search(solver *s, pl_net *net, part kind);

/* The value with the least bound first. Returns the least bound of what was not searched. */
static double branch(solver *s, const pl_net *net)
{
    int v = find_branch(net), size = net->size[v];
    pl_arena *tmp = pl_arena_new("search branch");
    bool *done = PL_NEW_N(tmp, bool, size);
    double left = INFINITY;
    for (int i = 0; i < size; i++) {
        int x = -1;
        for (int y = 0; y < size; y++)
            if (!done[y] && (x < 0 || net->least[v][y] < net->least[v][x])) x = y;
        done[x] = true;
        if (net->settled && net->least[v][x] >= pl_solve_goal(s->best, s->options)) continue;
        if (is_spent(s, net)) {
            left = fmin(left, net->settled ? net->least[v][x] : -INFINITY);
            continue;
        }
        pl_arena *mine = pl_arena_new("search child");
        bool **keep = pl_net_keeps(net, mine);
        memset(keep[v], 0, (size_t)size * sizeof(bool));
        keep[v][x] = true;
        pl_net *child = pl_net_keep(net, keep, NULL, true, mine);
        if (child) {
            child->work = 0;
            left = fmin(left, fmax(search(s, child, BRANCH), net->least[v][x]));
        }
        pl_arena_free(mine);
    }
    pl_arena_free(tmp);
    return left;
}

/* Every variable by itself. */
static void finish(solver *s, const pl_net *net)
{
    pl_arena *tmp = pl_arena_new("search leaf");
    int *index = PL_NEW_N(tmp, int, net->n);
    for (int v = 0; v < net->n; v++)
        for (int x = 1; x < net->size[v]; x++)
            if (net->unary[v][x] < net->unary[v][index[v]]) index[v] = x;
    offer(s, net, index);
    pl_arena_free(tmp);
}

void pl_solve_best(const double *least, int size, bool *keep, pl_arena *arena)
{
    int n = size / 4 < 4 ? 4 : size / 4;
    if (size <= n) return;
    double *sorted = PL_NEW_N(arena, double, size);
    memcpy(sorted, least, (size_t)size * sizeof *sorted);
    double most = pl_solve_nth(sorted, size, n - 1);
    for (int x = 0; x < size; x++) keep[x] = least[x] <= most;
}

/* A better choice is looked for among the best values; it may take as long as all took so far. */
static void search_part(solver *s, const pl_net *net)
{
    pl_arena *tmp = pl_arena_new("search part");
    bool **keep = pl_net_keeps(net, tmp);
    for (int v = 0; v < net->n; v++) pl_solve_best(net->least[v], net->size[v], keep[v], tmp);
    pl_net *best = pl_net_keep(net, keep, NULL, true, tmp);
    if (best) {
        int64_t stop = s->stop;
        best->work -= net->work;
        s->stop = s->work / 4 + s->work < stop ? s->work / 4 + s->work : stop;
        search(s, best, PART);
        s->stop = stop;
    }
    pl_arena_free(tmp);
}

/* Searches all of a net; returns a bound of what it could not: INFINITY when it is done. The net
 * itself gets potentials. */
static double search(solver *s, pl_net *net, part kind)
{
    pl_arena *tmp = pl_arena_new("search node");
    double left = INFINITY;
    pl_solve_pace pace = { 0, 1, -INFINITY };
    for (bool moved = !s->options->no_bound; net->n_edges;) {
        double entries = pl_solve_entries(net), bound = net->bound, best = s->best,
               near = -INFINITY;
        bool pays = false;
        if (!s->options->no_bound) {
            pays = raise_bound(s, net, &pace) && kind != BRANCH;
            if (net->bound >= pl_solve_goal(s->best, s->options)) break;
            s->work += net->work;
            net->work = 0;
            if (kind == WHOLE && s->best - net->bound > 1e-3 * fabs(net->bound))
                search_part(s, net);
            else if (!s->options->no_elimination && !pays)
                near = eliminate_near(s, net);
            if (fmax(near, net->bound) >= pl_solve_goal(s->best, s->options)) break;
        }
        s->work += net->work;
        net->work = 0;
        net = pl_solve_below(net, pl_solve_goal(s->best, s->options), tmp);
        if (net && !pays && pl_solve_may_dominate(net, s->work, s->options))
            net = dominate(net, NULL, s->options, tmp);
        if (!net || !net->n_edges) break;
        double limit = (double)(moved ? s->work / 4 : s->options->work_limit);
        if (!s->options->no_elimination && eliminate(s, net, INFINITY, limit, !pays)) break;
        if (!moved) {
            left = net->settled ? net->bound : -INFINITY;
            s->nodes++;
            if (kind != PART && !is_spent(s, net)) left = branch(s, net);
            break;
        }
        moved = !is_spent(s, net) &&
                (pays || s->best < best || net->bound - bound > 0.05 * (s->best - bound) ||
                 pl_solve_entries(net) < 0.7 * entries);
    }
    if (net && !net->n_edges) finish(s, net);
    if (net) s->work += net->work;
    pl_arena_free(tmp);
    return left;
}

/* The choice to be better than, unless it has a value that the net has lost. */
static void offer_start(solver *s, const pl_net *net)
{
    pl_arena *tmp = pl_arena_new("search start");
    int *index = PL_NEW_N(tmp, int, net->n);
    if (pl_net_places(net, s->options->start, index)) offer(s, net, index);
    pl_arena_free(tmp);
}

pl_minimum pl_solve_net(pl_net *net, const pl_search_options *options, pl_arena *out)
{
    solver s = { options, net->n, PL_NEW_N(out, int, net->n), INFINITY, 0, 0, options->effort };
    if (options->start) offer_start(&s, net);
    double left = search(&s, net, WHOLE);
    pl_minimum found = { isfinite(s.best) ? s.value : NULL, s.best,
                         fmin(pl_solve_goal(s.best, options), left), s.work };
    return found;
}

static pl_minimum solve_whole(const pl_sum *sum, pl_cost weights, const pl_search_options *options,
                              pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("net");
    pl_net *net = pl_net_of(sum, weights, tmp);
    const pl_minimum found =
        net ? pl_solve_net(net, options, out) : (pl_minimum){ NULL, INFINITY, INFINITY, 0 };
    pl_arena_free(tmp);
    return found;
}

/* When variables with few neighbours have gone. */
static pl_minimum solve_reduced(const pl_sum *sum, pl_cost weights,
                                const pl_search_options *options, pl_arena *out, pl_arena *tmp)
{
    const pl_reduced *r = pl_sum_reduce(sum, weights, NULL, tmp);
    pl_search_options o = *options;
    int *start = PL_NEW_N(tmp, int, sum->n + 1);
    if (o.start) pl_reduced_drop(r, o.start, start), o.start = start;
    pl_minimum found = solve_whole(&r->sum, (pl_cost){ 1, 0 }, &o, tmp);
    found.work += r->work;
    if (!found.value) return found;
    int *value = PL_NEW_N(out, int, sum->n + 1);
    pl_reduced_restore(r, found.value, value);
    found.value = value;
    return found;
}

pl_minimum pl_solve_sum(const pl_sum *sum, pl_cost weights, const pl_search_options *options,
                        pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("search");
    pl_minimum found = options->no_reduction ? solve_whole(sum, weights, options, out)
                                             : solve_reduced(sum, weights, options, out, tmp);
    pl_arena_free(tmp);
    return found;
}
