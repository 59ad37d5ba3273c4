/* A capped sum (cap.h): branch and bound on prices, the part with the least bound next. Read
 * solve() near the end, then search_parts() and how a part is split (score_split, add_child). */
#include "search/cap.h"
#include "search/branch.h"

#include <string.h>

/* Rounds of passes of all and of a part; known choices that are mixed; turns of these two. */
enum { ROOT_ROUNDS = 64, ROUNDS = 6, ROOT_MIXED = PL_POOL_KNOWN, MIXED = 4, TURNS = 6 };

/* With this gap half of the effort is enough. */
static const double ENOUGH = 2e-3;

/* Entries of an elimination that is worth trying. */
enum { MOST_ELIMINATED = 1 << 21 };

/* Tables of so many entries need no first choices; a gap that asks for them. */
enum { MOST_SMALL = 1 << 16 };
static const double FAR = 1e-2;

/* Gap of the choices among the best values; prices that are one; part of the gap that a turn is to
 * gain. */
static const double ROUGH = 1e-3, SAME_PRICE = 0.05, WORTH = 0.05;

typedef struct parts {
    pl_branch **at;
    int n, cap;
} parts;

typedef struct search {
    pl_pool pool;
    int64_t nodes;
    parts open, split; /* to be looked at; whose tables others use */
} search;

static int64_t limit_of(const search *s)
{
    const bool late = s->pool.best.value && pl_solve_is_late(s->pool.options);
    return late ? 0 : s->pool.options->effort;
}

/* -- branching --------------------------------------------------------------------------------- */

/* How a part is split: by the value one[0], by one[1] (-1: none), and all others of variable v; or
 * by memory: above `middle`, and not. */
typedef struct split {
    int v, one[2];
    bool by_memory;
    double middle, score;
} split;

/* The child that a value is in. */
static int child_of(const pl_net *net, const split *t, int x)
{
    if (t->by_memory) return net->memory[t->v][x] > t->middle ? 0 : 1;
    return x == t->one[0] ? 0 : x == t->one[1] ? 1 : 2;
}

static int find_least(const double *least, int n)
{
    int best = 0;
    for (int x = 1; x < n; x++)
        if (least[x] < least[best]) best = x;
    return best;
}

/* Best where the two choices differ, by much memory, and other values are far from the bound; else
 * where the best value is far better than the next. */
static split score_split(const search *s, const pl_branch *branch, int v)
{
    const pl_net *net = branch->net;
    const double *least = net->least[v], *memory = net->memory[v];
    int n = net->size[v];
    double most = pl_pool_goal(&s->pool) + branch->price * s->pool.cap, next = most;
    split t = { .v = v,
                .one = { pl_net_place(net, v, branch->over.value),
                         pl_net_place(net, v, branch->under.value) } };
    bool differ = t.one[0] >= 0 && t.one[1] >= 0 && t.one[0] != t.one[1];
    if (!differ) {
        t.one[0] = find_least(least, n);
        t.one[1] = -1;
    }
    for (int i = 0; i < n; i++)
        if (i != t.one[0] && i != t.one[1]) next = fmin(next, least[i]);
    double apart = differ && memory ? fabs(memory[t.one[0]] - memory[t.one[1]]) : 0;
    double rise =
        next < INFINITY && next > net->bound ? (next - net->bound) / (most - net->bound) : 0;
    double degree = net->first[v + 1] - net->first[v], gap = pl_branch_gap(&s->pool, branch);
    t.by_memory = apart > 0;
    if (apart > 0) t.middle = 0.5 * (memory[t.one[0]] + memory[t.one[1]]);
    t.score =
        rise + 0.01 * degree + (differ ? 10 : 0) + (gap > 0 ? branch->price * apart / gap : 0);
    return t;
}

/* One child of a part; it is kept when it is open after a round of passes. */
static void add_child(search *s, const pl_branch *branch, split t, int kind)
{
    const pl_net *net = branch->net;
    pl_arena *arena = pl_arena_new("search part");
    double most = pl_pool_goal(&s->pool) + branch->price * s->pool.cap;
    bool **keep = pl_net_keeps(net, arena);
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++) keep[v][i] = net->least[v][i] <= most;
    for (int i = 0; i < net->size[t.v]; i++) keep[t.v][i] &= child_of(net, &t, i) == kind;
    pl_branch *y = PL_NEW(arena, pl_branch);
    *y = (pl_branch){ pl_net_keep(net, keep, NULL, true, arena), branch->price, branch->bound,
                      .arena = arena, .tried = branch->tried };
    if (y->net) {
        y->net->work = 0;
        if (pl_net_place(y->net, t.v, branch->over.value) >= 0) y->over = branch->over;
        if (pl_net_place(y->net, t.v, branch->under.value) >= 0) y->under = branch->under;
        s->nodes++;
        if (!s->pool.options->no_bound) pl_branch_raise(&s->pool, y);
        if (!pl_branch_is_closed(&s->pool, y)) {
            PL_PUSH(s->pool.arena, &s->open, y);
            return;
        }
    }
    pl_arena_free(arena);
}

static void branch(search *s, pl_branch *branch)
{
    if (!s->pool.options->no_mixing && !s->pool.options->no_bound)
        pl_branch_mix(&s->pool, branch, MIXED);
    const pl_net *net = branch->net;
    split best = { .v = -1, .score = -INFINITY };
    for (int v = 0; v < net->n; v++) {
        if (net->size[v] == 1) continue;
        split t = score_split(s, branch, v);
        if (t.score > best.score) best = t;
    }
    if (best.v < 0) { /* a single choice */
        int *value = PL_NEW_N(branch->arena, int, net->n);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][0];
        pl_pool_offer(&s->pool, branch, value);
    }
    for (int kind = 0; kind < 3 && best.v >= 0; kind++) add_child(s, branch, best, kind);
}

/* -- all parts --------------------------------------------------------------------------------- */

/* Takes the open part with the least bound. */
static pl_branch *take_next(search *s)
{
    int at = 0;
    for (int i = 1; i < s->open.n; i++)
        if (s->open.at[i]->bound < s->open.at[at]->bound) at = i;
    pl_branch *x = s->open.at[at];
    s->open.at[at] = s->open.at[--s->open.n];
    return x;
}

static void drop(search *s, pl_branch *x)
{
    if (x->arena != s->pool.arena) pl_arena_free(x->arena); /* else it is the root's */
}

/* Passes, then the choices of the part one by one if they are few. True when none is left. */
static bool close_part(search *s, pl_branch *branch)
{
    branch->raised = true;
    if (branch->arena != s->pool.arena && !s->pool.options->no_bound)
        pl_branch_bound(&s->pool, branch, false, ROUNDS, limit_of(s));
    return pl_branch_is_closed(&s->pool, branch) || pl_branch_eliminate(&s->pool, branch);
}

/* Returns the bound of all. */
static double search_parts(search *s, pl_branch *root)
{
    double bound = INFINITY;
    const bool splits =
        !s->pool.options->no_bound || !s->pool.options->no_mixing; /* else no part would ever end */
    PL_PUSH(s->pool.arena, &s->open, root);
    while (s->open.n) {
        pl_branch *x = take_next(s);
        bool near = pl_branch_gap(&s->pool, x) <= ENOUGH * fabs(x->bound);
        int64_t limit = near ? limit_of(s) / 2 : limit_of(s);
        bool spent = s->nodes >= s->pool.options->node_limit || s->pool.work >= limit || !splits;
        if (pl_branch_is_closed(&s->pool, x) || spent) {
            bound = x->bound;
            drop(s, x);
            break;
        }
        if (x->raised) {
            branch(s, x);
            PL_PUSH(s->pool.arena, &s->split, x);
        } else if (close_part(s, x)) {
            drop(s, x);
        } else {
            PL_PUSH(s->pool.arena, &s->open, x);
        }
    }
    for (int i = 0; i < s->open.n; i++) drop(s, s->open.at[i]);
    for (int i = 0; i < s->split.n; i++) drop(s, s->split.at[i]);
    return fmin(bound, pl_pool_goal(&s->pool));
}

/* The least memory of any legal choice; it fits or nothing does. Passes mostly find it at once:
 * where it lies on its variables' least, what is made on the way is it. */
static bool find_least_memory(search *s, pl_branch *root, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("least memory");
    pl_net *net = pl_net_of(s->pool.sum, (pl_cost){ 0, 1 }, tmp);
    pl_minimum found = { NULL, INFINITY, INFINITY, 0 };
    bool ok = false;
    if (net) {
        int *pick = PL_NEW_N(tmp, int, net->n), *value = PL_NEW_N(tmp, int, net->n);
        pl_net_pass(net, true, NULL);
        pl_net_pass(net, false, pick);
        pl_net_descend(net, pick, 2);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][pick[v]];
        found = (pl_minimum){ value, pl_net_cost(net, pick), net->bound, net->work };
        if (!(found.cost - found.bound <= 1e-9 * fabs(found.cost)))
            found = pl_solve_net(net, s->pool.options, tmp);
    }
    s->pool.work += found.work;
    double memory = found.value ? pl_sum_cost(s->pool.sum, found.value).memory : INFINITY;
    s->pool.least = memory;
    ok = s->pool.best.value || pl_cap_fits(&found, memory, s->pool.cap, err);
    if (ok && memory <= s->pool.cap) {
        pl_solution under = root->under;
        pl_pool_offer(&s->pool, root, found.value);
        root->under = under; /* its time may be any: no line to find a price with */
    }
    pl_arena_free(tmp);
    return ok;
}

/* Mixtures are choices too, and better ones give a better price. */
static void bound_root(search *s, pl_branch *root, int64_t most)
{
    for (int i = 0; i < TURNS; i++) {
        double before = s->pool.best.cost.time;
        pl_branch_bound(&s->pool, root, true, ROOT_ROUNDS, most);
        if (pl_branch_is_closed(&s->pool, root) || s->pool.options->no_mixing) return;
        pl_branch_mix(&s->pool, root, ROOT_MIXED);
        if (before - s->pool.best.cost.time <= 1e-3 * fabs(before) || s->pool.work > most) return;
        root->under = s->pool.best;
    }
}

/* The best values of each variable: their tables are a small part of all, and good choices and a
 * good price are among them. */
static void search_few(search *s, pl_branch *root)
{
    pl_arena *arena = pl_arena_new("best values");
    const pl_net *net = root->net;
    bool **keep = PL_NEW_N(arena, bool *, net->n);
    for (int v = 0; v < net->n; v++) {
        keep[v] = PL_NEW_N(arena, bool, net->size[v]);
        memset(keep[v], 1, (size_t)net->size[v] * sizeof(bool));
        pl_solve_best(net->least[v], net->size[v], keep[v], arena);
        for (int k = 0; k < PL_POOL_KNOWN && k < s->pool.n_known; k++) {
            int at = pl_net_place(net, v, s->pool.known[k]);
            if (at >= 0) keep[v][at] = true;
        }
    }
    pl_branch few = *root;
    few.arena = arena;
    few.net = pl_net_keep(net, keep, NULL, true, arena);
    if (few.net) {
        const pl_search_options *all = s->pool.options;
        pl_search_options rough = *all;
        rough.gap = fmax(rough.gap, ROUGH);
        s->pool.options = &rough;
        few.net->work = 0;
        few.bound = -INFINITY;
        bound_root(s, &few, s->pool.work + limit_of(s) / 4);
        s->pool.options = all;
        root->over = few.over, root->under = few.under;
        if (fabs(few.price - root->price) > SAME_PRICE * root->price)
            pl_branch_reprice(root, few.price);
    }
    pl_arena_free(arena);
}

/* First prices and choices, of large tables from a part of them. */
static void begin_root(search *s, pl_branch *root, int64_t most)
{
    pl_branch_begin(&s->pool, root);
    while (s->pool.work < most && !pl_branch_is_closed(&s->pool, root)) {
        if (pl_solve_entries(root->net) < MOST_SMALL) break;
        double gap = pl_branch_gap(&s->pool, root), rise = pl_branch_raise(&s->pool, root);
        if (pl_branch_gap(&s->pool, root) <= FAR * fabs(root->bound)) break;
        search_few(s, root);
        double gain = gap - pl_branch_gap(&s->pool, root);
        if (rise < WORTH * gap && gain < WORTH * gap) break;
    }
}

/* When memory is free at the best price: the fastest choice of all, which may fit. */
static void solve_free(search *s, pl_branch *root)
{
    pl_search_options options = *s->pool.options;
    int64_t left = limit_of(s) - s->pool.work, least = limit_of(s) / 4;
    options.effort = left > least ? left : least;
    if (options.work_limit > least) options.work_limit = least;
    options.start = s->pool.best.value;
    pl_minimum found = pl_solve_sum(s->pool.sum, (pl_cost){ 1, 0 }, &options, s->pool.arena);
    s->pool.work += found.work;
    root->bound = fmax(root->bound, found.bound);
    if (found.value) pl_pool_offer(&s->pool, root, found.value);
}

/* Fails when nothing is legal or nothing fits. */
static bool solve(search *s, pl_branch *root, double *bound, pl_err *err)
{
    if (s->pool.options->start) pl_pool_offer(&s->pool, root, s->pool.options->start);
    PL_TRY(find_least_memory(s, root, err));
    int64_t most = limit_of(s) - limit_of(s) / 4;
    if (!s->pool.options->no_bound) {
        begin_root(s, root, most);
        bound_root(s, root, most);
    }
    if (!pl_branch_is_closed(&s->pool, root) && !(root->price > 0)) {
        solve_free(s, root);
        if (!s->pool.options->no_bound && !pl_branch_is_closed(&s->pool, root) && root->over.value)
            bound_root(s, root, most);
    }
    *bound = search_parts(s, root);
    return true;
}

static pl_solution copy(pl_solution solution, int n, pl_arena *out)
{
    if (!solution.value) return solution;
    int *value = PL_NEW_N(out, int, n);
    memcpy(value, solution.value, (size_t)n * sizeof *value);
    return (pl_solution){ value, solution.cost };
}

bool pl_cap_bracket(const pl_sum *sum, double cap, const pl_search_options *options, pl_arena *out,
                    pl_bracket *bracket)
{
    pl_arena *tmp = pl_arena_new("capped look");
    search s = { .pool = { .sum = sum, .options = options, .cap = cap, .arena = tmp } };
    pl_branch root = { .net = pl_net_of(sum, (pl_cost){ 1, 0 }, tmp),
                       .bound = -INFINITY,
                       .arena = tmp };
    pl_err none = { 0 };
    bool ok = root.net && !options->no_bound && find_least_memory(&s, &root, &none);
    if (ok) {
        pl_net_remember(root.net, sum, tmp);
        begin_root(&s, &root, limit_of(&s));
        bound_root(&s, &root, limit_of(&s));
    }
    *bracket = (pl_bracket){ copy(root.over, sum->n, out), copy(root.under, sum->n, out),
                             copy(s.pool.best, sum->n, out), root.price, s.pool.work };
    pl_arena_free(tmp);
    return ok;
}

bool pl_cap_sum(const pl_sum *sum, double cap, const pl_search_options *options, pl_arena *out,
                pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("capped search");
    search s = { .pool = { .sum = sum, .options = options, .cap = cap, .arena = tmp } };
    pl_branch root = { .net = pl_net_of(sum, (pl_cost){ 1, 0 }, tmp),
                       .bound = -INFINITY,
                       .arena = tmp,
                       .tried = MOST_ELIMINATED };
    double bound = INFINITY;
    bool ok = root.net || pl_err_set(err, PL_EINFEASIBLE,
                                     "no choice is legal: every one has a term of infinite time");
    if (ok) {
        pl_net_remember(root.net, sum, tmp);
        ok = solve(&s, &root, &bound, err);
    }
    if (ok)
        *answer = pl_cap_answer(copy(s.pool.best, sum->n, out).value, s.pool.best.cost, bound,
                                root.price, s.pool.work);
    pl_arena_free(tmp);
    return ok;
}
