/* A capped sum (cap.h): parts of the choices, the one with the least bound next. */
#include "search/cap.h"
#include "search/branch.h"

#include <string.h>

/* Rounds of passes of all and of a part; known choices that are mixed; turns of these two. */
enum { ROOT_ROUNDS = 64, ROUNDS = 6, ROOT_MIXED = PL_HUNT_KNOWN, MIXED = 4, TURNS = 6 };

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
    pl_hunt h;
    int64_t nodes;
    parts open, split; /* to be looked at; whose tables others use */
} search;

static int64_t limit_of(const search *s)
{
    return s->h.o->effort;
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
static split score_split(const search *s, const pl_branch *x, int v)
{
    const pl_net *net = x->net;
    const double *least = net->least[v], *memory = net->memory[v];
    int n = net->size[v];
    double most = pl_hunt_goal(&s->h) + x->price * s->h.cap, next = most;
    split t = {
        .v = v, .one = { pl_net_place(net, v, x->over.value), pl_net_place(net, v, x->under.value) }
    };
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
    double degree = net->first[v + 1] - net->first[v], gap = pl_branch_gap(&s->h, x);
    t.by_memory = apart > 0;
    if (apart > 0) t.middle = 0.5 * (memory[t.one[0]] + memory[t.one[1]]);
    t.score = rise + 0.01 * degree + (differ ? 10 : 0) + (gap > 0 ? x->price * apart / gap : 0);
    return t;
}

/* One child of a part; it is kept when it is open after a round of passes. */
static void add_child(search *s, const pl_branch *x, split t, int kind)
{
    const pl_net *net = x->net;
    pl_arena *arena = pl_arena_new("search part");
    double most = pl_hunt_goal(&s->h) + x->price * s->h.cap;
    bool **keep = pl_net_keeps(net, arena);
    for (int v = 0; v < net->n; v++)
        for (int i = 0; i < net->size[v]; i++) keep[v][i] = net->least[v][i] <= most;
    for (int i = 0; i < net->size[t.v]; i++) keep[t.v][i] &= child_of(net, &t, i) == kind;
    pl_branch *y = PL_NEW(arena, pl_branch);
    *y = (pl_branch){ pl_net_keep(net, keep, NULL, true, arena), x->price, x->bound, .arena = arena,
                      .tried = x->tried };
    if (y->net) {
        y->net->work = 0;
        if (pl_net_place(y->net, t.v, x->over.value) >= 0) y->over = x->over;
        if (pl_net_place(y->net, t.v, x->under.value) >= 0) y->under = x->under;
        s->nodes++;
        if (!s->h.o->no_bound) pl_branch_raise(&s->h, y);
        if (!pl_branch_is_closed(&s->h, y)) {
            PL_PUSH(s->h.arena, &s->open, y);
            return;
        }
    }
    pl_arena_free(arena);
}

static void branch(search *s, pl_branch *x)
{
    if (!s->h.o->no_mixing && !s->h.o->no_bound) pl_branch_mix(&s->h, x, MIXED);
    const pl_net *net = x->net;
    split best = { .v = -1, .score = -INFINITY };
    for (int v = 0; v < net->n; v++) {
        if (net->size[v] == 1) continue;
        split t = score_split(s, x, v);
        if (t.score > best.score) best = t;
    }
    if (best.v < 0) { /* a single choice */
        int *value = PL_NEW_N(x->arena, int, net->n);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][0];
        pl_hunt_offer(&s->h, x, value);
    }
    for (int kind = 0; kind < 3 && best.v >= 0; kind++) add_child(s, x, best, kind);
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
    if (x->arena != s->h.arena) pl_arena_free(x->arena); /* else it is the root's */
}

/* Passes, then the choices of the part one by one if they are few. True when none is left. */
static bool close_part(search *s, pl_branch *x)
{
    x->raised = true;
    if (x->arena != s->h.arena && !s->h.o->no_bound)
        pl_branch_bound(&s->h, x, false, ROUNDS, limit_of(s));
    return pl_branch_is_closed(&s->h, x) || pl_branch_eliminate(&s->h, x);
}

/* Returns the bound of all. */
static double search_parts(search *s, pl_branch *root)
{
    double bound = INFINITY;
    const bool splits = !s->h.o->no_bound || !s->h.o->no_mixing; /* else no part would ever end */
    PL_PUSH(s->h.arena, &s->open, root);
    while (s->open.n) {
        pl_branch *x = take_next(s);
        bool near = pl_branch_gap(&s->h, x) <= ENOUGH * fabs(x->bound);
        int64_t limit = near ? limit_of(s) / 2 : limit_of(s);
        bool spent = s->nodes >= s->h.o->node_limit || s->h.work >= limit || !splits;
        if (pl_branch_is_closed(&s->h, x) || spent) {
            bound = x->bound;
            drop(s, x);
            break;
        }
        if (x->raised) {
            branch(s, x);
            PL_PUSH(s->h.arena, &s->split, x);
        } else if (close_part(s, x)) {
            drop(s, x);
        } else {
            PL_PUSH(s->h.arena, &s->open, x);
        }
    }
    for (int i = 0; i < s->open.n; i++) drop(s, s->open.at[i]);
    for (int i = 0; i < s->split.n; i++) drop(s, s->split.at[i]);
    return fmin(bound, pl_hunt_goal(&s->h));
}

/* The least memory of any legal choice; it fits or nothing does. Passes mostly find it at once:
 * where it lies on its variables' least, what is made on the way is it. */
static bool find_least_memory(search *s, pl_branch *root, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("least memory");
    pl_net *net = pl_net_of(s->h.s, (pl_cost){ 0, 1 }, tmp);
    pl_elimination f = { NULL, INFINITY, INFINITY, 0 };
    bool ok = false;
    if (net) {
        int *pick = PL_NEW_N(tmp, int, net->n), *value = PL_NEW_N(tmp, int, net->n);
        pl_net_pass(net, true, NULL);
        pl_net_pass(net, false, pick);
        pl_net_descend(net, pick, 2);
        for (int v = 0; v < net->n; v++) value[v] = net->value[v][pick[v]];
        f = (pl_elimination){ value, pl_net_cost(net, pick), net->bound, net->work };
        if (!(f.cost - f.bound <= 1e-9 * fabs(f.cost))) f = pl_solve_net(net, s->h.o, tmp);
    }
    s->h.work += f.work;
    double memory = f.value ? pl_sum_cost(s->h.s, f.value).memory : INFINITY;
    s->h.least = memory;
    ok = s->h.best.value || pl_cap_fits(&f, memory, s->h.cap, err);
    if (ok && memory <= s->h.cap) {
        pl_solution under = root->under;
        pl_hunt_offer(&s->h, root, f.value);
        root->under = under; /* its time may be any: no line to find a price with */
    }
    pl_arena_free(tmp);
    return ok;
}

/* Mixtures are choices too, and better ones give a better price. */
static void bound_root(search *s, pl_branch *root, int64_t most)
{
    for (int i = 0; i < TURNS; i++) {
        double before = s->h.best.cost.time;
        pl_branch_bound(&s->h, root, true, ROOT_ROUNDS, most);
        if (pl_branch_is_closed(&s->h, root) || s->h.o->no_mixing) return;
        pl_branch_mix(&s->h, root, ROOT_MIXED);
        if (before - s->h.best.cost.time <= 1e-3 * fabs(before) || s->h.work > most) return;
        root->under = s->h.best;
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
        for (int k = 0; k < PL_HUNT_KNOWN && k < s->h.n_known; k++) {
            int at = pl_net_place(net, v, s->h.known[k]);
            if (at >= 0) keep[v][at] = true;
        }
    }
    pl_branch few = *root;
    few.arena = arena;
    few.net = pl_net_keep(net, keep, NULL, true, arena);
    if (few.net) {
        const pl_search_options *all = s->h.o;
        pl_search_options rough = *all;
        rough.gap = fmax(rough.gap, ROUGH);
        s->h.o = &rough;
        few.net->work = 0;
        few.bound = -INFINITY;
        bound_root(s, &few, s->h.work + limit_of(s) / 4);
        s->h.o = all;
        root->over = few.over, root->under = few.under;
        if (fabs(few.price - root->price) > SAME_PRICE * root->price)
            pl_branch_reprice(root, few.price);
    }
    pl_arena_free(arena);
}

/* First prices and choices, of large tables from a part of them. */
static void begin_root(search *s, pl_branch *root, int64_t most)
{
    pl_branch_begin(&s->h, root);
    while (s->h.work < most && !pl_branch_is_closed(&s->h, root)) {
        if (pl_solve_entries(root->net) < MOST_SMALL) break;
        double gap = pl_branch_gap(&s->h, root), rise = pl_branch_raise(&s->h, root);
        if (pl_branch_gap(&s->h, root) <= FAR * fabs(root->bound)) break;
        search_few(s, root);
        double gain = gap - pl_branch_gap(&s->h, root);
        if (rise < WORTH * gap && gain < WORTH * gap) break;
    }
}

/* When memory is free at the best price: the fastest choice of all, which may fit. */
static void solve_free(search *s, pl_branch *root)
{
    pl_search_options o = *s->h.o;
    int64_t left = limit_of(s) - s->h.work, least = limit_of(s) / 4;
    o.effort = left > least ? left : least;
    if (o.work_limit > least) o.work_limit = least;
    o.start = s->h.best.value;
    pl_elimination f = pl_solve_sum(s->h.s, (pl_cost){ 1, 0 }, &o, s->h.arena);
    s->h.work += f.work;
    root->bound = fmax(root->bound, f.bound);
    if (f.value) pl_hunt_offer(&s->h, root, f.value);
}

/* Fails when nothing is legal or nothing fits. */
static bool solve(search *s, pl_branch *root, double *bound, pl_err *err)
{
    if (s->h.o->start) pl_hunt_offer(&s->h, root, s->h.o->start);
    PL_TRY(find_least_memory(s, root, err));
    int64_t most = limit_of(s) - limit_of(s) / 4;
    if (!s->h.o->no_bound) {
        begin_root(s, root, most);
        bound_root(s, root, most);
    }
    if (!pl_branch_is_closed(&s->h, root) && !(root->price > 0)) {
        solve_free(s, root);
        if (!s->h.o->no_bound && !pl_branch_is_closed(&s->h, root) && root->over.value)
            bound_root(s, root, most);
    }
    *bound = search_parts(s, root);
    return true;
}

static pl_solution copy(pl_solution p, int n, pl_arena *out)
{
    if (!p.value) return p;
    int *value = PL_NEW_N(out, int, n);
    memcpy(value, p.value, (size_t)n * sizeof *value);
    return (pl_solution){ value, p.cost };
}

bool pl_cap_look(const pl_sum *sum, double cap, const pl_search_options *o, pl_arena *out,
                 pl_sides *sides)
{
    pl_arena *tmp = pl_arena_new("capped look");
    search s = { .h = { .s = sum, .o = o, .cap = cap, .arena = tmp } };
    pl_branch root = { .net = pl_net_of(sum, (pl_cost){ 1, 0 }, tmp),
                       .bound = -INFINITY,
                       .arena = tmp };
    pl_err none = { 0 };
    bool ok = root.net && !o->no_bound && find_least_memory(&s, &root, &none);
    if (ok) {
        pl_net_remember(root.net, sum, tmp);
        begin_root(&s, &root, limit_of(&s));
        bound_root(&s, &root, limit_of(&s));
    }
    *sides = (pl_sides){ copy(root.over, sum->n, out), copy(root.under, sum->n, out),
                         copy(s.h.best, sum->n, out), root.price, s.h.work };
    pl_arena_free(tmp);
    return ok;
}

bool pl_cap_sum(const pl_sum *sum, double cap, const pl_search_options *o, pl_arena *out,
                pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("capped search");
    search s = { .h = { .s = sum, .o = o, .cap = cap, .arena = tmp } };
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
        *answer = pl_cap_answer(copy(s.h.best, sum->n, out).value, s.h.best.cost, bound, root.price,
                                s.h.work);
    pl_arena_free(tmp);
    return ok;
}
