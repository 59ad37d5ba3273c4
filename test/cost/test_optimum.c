/* The planner's answer is the least there is: on small random graphs, meshes and speeds it equals
 * brute force over the tables, with and without a memory cap; and blocks that are folded give what
 * the same tables give written out. */
#include "support/rounds.h"
#include "graph/fold.h"
#include "cost/problem.h"
#include "support/tiny.h"

#include <math.h>

enum {
    GRAPHS = ROUNDS_OF(600),
    HIDING = ROUNDS_OF(200),
    STACKS = ROUNDS_OF(60),
    AGAIN = ROUNDS_OF(20)
};
static const int64_t MOST_WORK = 500000; /* entries that brute force reads of one graph */

/* -- brute force ------------------------------------------------------------------------------- */

/* What a choice adds up to: the two sums of which the larger counts, their mean, bytes. */
enum { SENDING, COMPUTING, MEAN, BYTES, N_SUMS };

typedef struct cost {
    double at[N_SUMS];
} cost;

typedef struct joint {
    int a, b;
    cost *at; /* [values of a][values of b] */
} joint;

/* Depth first. A variable without a value has a row: what each of its values adds, by itself and
 * with the variables that have one. All entries are >= 0, so the sum of the rows' least entries is
 * a bound; nothing else is left out. */
typedef struct level {
    cost **row, *least; /* [variables][values]; [variables] of the rows above */
    double *worth;      /* [values] of the variable that is set here          */
} level;

typedef struct brute {
    int n, n_edges, *n_values, depth;
    cost **row;   /* [variables][values] */
    level *level; /* [variables]         */
    joint *edge;
    bool *set, by_bytes;     /* by_bytes: the least bytes are sought, whatever time they take */
    double cap, best;        /* sought is a choice that is better than the best               */
    int64_t work, most_work; /* entries read */
    pl_arena *arena;
} brute;

static cost cost_of(double sending, double computing, double bytes)
{
    PL_ASSERT(computing >= 0 && sending >= 0 && bytes >= 0);
    return (cost){ { sending, computing, (sending + computing) / 2, bytes } };
}

static void add(cost *to, const cost *x)
{
    for (int k = 0; k < N_SUMS; k++) to->at[k] += x->at[k];
}

static brute brute_of(const pl_problem *t, int64_t most_work, pl_arena *a)
{
    const pl_chain ends[2] = { pl_problem_chain(t, 0, a), pl_problem_chain(t, 1, a) };
    const pl_sum s = pl_chain_unroll(&ends[0], a), c = pl_chain_unroll(&ends[1], a);
    brute x = { s.n, s.n_edges, .most_work = most_work, .arena = a };
    x.n_values = PL_NEW_N(a, int, s.n + 1);
    x.row = PL_NEW_N(a, cost *, s.n + 1);
    x.level = PL_NEW_N(a, level, s.n + 1);
    x.edge = PL_NEW_N(a, joint, s.n_edges + 1);
    x.set = PL_NEW_N(a, bool, s.n + 1);
    for (int v = 0; v < s.n; v++) {
        x.n_values[v] = s.n_values[v];
        x.row[v] = PL_NEW_N(a, cost, s.n_values[v]);
        for (int i = 0; i < s.n_values[v]; i++)
            x.row[v][i] = cost_of(s.time[v][i], c.time[v][i], s.memory[v][i]);
    }
    for (int p = 0; p < s.n_edges; p++) {
        const pl_sum_edge *e = &s.edge[p], *f = &c.edge[p];
        int n = s.n_values[e->a] * s.n_values[e->b];
        x.edge[p] = (joint){ e->a, e->b, PL_NEW_N(a, cost, n) };
        for (int i = 0; i < n; i++)
            x.edge[p].at[i] = cost_of(e->time[i], f->time[i], e->memory ? e->memory[i] : 0);
    }
    return x;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* What the sums amount to; INFINITY: more than the cap. */
static double worth_of(const brute *x, const cost *sum)
{
    double time = larger(larger(sum->at[SENDING], sum->at[COMPUTING]), sum->at[MEAN]);
    if (sum->at[BYTES] > x->cap || isinf(time)) return INFINITY;
    return x->by_bytes ? sum->at[BYTES] : time;
}

static cost least_of(const brute *x, int v)
{
    cost c = x->row[v][0];
    for (int i = 1; i < x->n_values[v]; i++)
        for (int k = 0; k < N_SUMS; k++)
            if (x->row[v][i].at[k] < c.at[k]) c.at[k] = x->row[v][i].at[k];
    return c;
}

/* Of the sums with one value of a variable instead of its least entries. */
static double worth_with(const brute *x, const cost *sum, const cost *least, const cost *value)
{
    cost c;
    for (int k = 0; k < N_SUMS; k++) c.at[k] = sum->at[k] - least->at[k] + value->at[k];
    return worth_of(x, &c);
}

/* The variable that has the fewest values that may be better; sum: of all least[]. */
static int pick(brute *x, const cost *sum, const cost least[])
{
    int next = -1, fewest = INT32_MAX;
    for (int v = 0; v < x->n; v++) {
        if (x->set[v]) continue;
        int live = 0;
        for (int i = 0; i < x->n_values[v] && live < fewest; i++)
            live += worth_with(x, sum, &least[v], &x->row[v][i]) < x->best;
        x->work += x->n_values[v];
        if (live < fewest) fewest = live, next = v;
    }
    return next;
}

/* Adds what a value of v shares with the variables that have none to their rows. */
static void set_value(brute *x, int v, int value)
{
    for (int p = 0; p < x->n_edges; p++) {
        const joint *e = &x->edge[p];
        int u = e->a == v ? e->b : e->b == v ? e->a : -1, cols = x->n_values[e->b];
        for (int i = 0; u >= 0 && !x->set[u] && i < x->n_values[u]; i++)
            add(&x->row[u][i], &e->at[u == e->b ? value * cols + i : i * cols + value]);
    }
}

static void search(brute *x, const cost *done);

/* Rows of one level of the search. */
static level *level_at(brute *x)
{
    level *l = &x->level[x->depth];
    if (l->row) return l;
    int most = 0;
    l->row = PL_NEW_N(x->arena, cost *, x->n + 1);
    for (int v = 0; v < x->n; v++) {
        l->row[v] = PL_NEW_N(x->arena, cost, x->n_values[v]);
        if (x->n_values[v] > most) most = x->n_values[v];
    }
    l->least = PL_NEW_N(x->arena, cost, x->n + 1);
    l->worth = PL_NEW_N(x->arena, double, most);
    return l;
}

/* All values of v, those with the least sums first. */
static void try_values(brute *x, int v, const cost *done, const cost *sum)
{
    level *l = &x->level[x->depth];
    cost **rows = x->row;
    for (int i = 0; i < x->n_values[v]; i++)
        l->worth[i] = worth_with(x, sum, &l->least[v], &rows[v][i]);
    x->set[v] = true;
    x->row = l->row;
    x->depth++;
    for (int i; x->work <= x->most_work;) {
        cost with = *done;
        i = 0;
        for (int k = 1; k < x->n_values[v]; k++)
            if (l->worth[k] < l->worth[i]) i = k;
        if (l->worth[i] >= x->best) break;
        l->worth[i] = INFINITY;
        for (int u = 0; u < x->n; u++)
            if (!x->set[u]) memcpy(l->row[u], rows[u], sizeof **rows * (size_t)x->n_values[u]);
        set_value(x, v, i);
        add(&with, &rows[v][i]);
        search(x, &with);
    }
    x->depth--;
    x->row = rows;
    x->set[v] = false;
}

/* done: what the variables that have a value add up to. */
static void search(brute *x, const cost *done)
{
    cost sum = *done, *least = level_at(x)->least;
    for (int v = 0; v < x->n; v++) {
        if (x->set[v]) continue;
        least[v] = least_of(x, v);
        add(&sum, &least[v]);
    }
    double worth = worth_of(x, &sum);
    if (worth >= x->best) return;
    int v = pick(x, &sum, least);
    if (v >= 0)
        try_values(x, v, done, &sum);
    else
        x->best = x->by_bytes ? worth : fmax(sum.at[SENDING], sum.at[COMPUTING]);
}

/* The least time within the cap, or the least bytes; INFINITY: nothing is legal and fits. False:
 * there is too much to try. */
static bool brute_min(brute *x, double cap, bool by_bytes, double *best)
{
    const cost none = { { 0 } };
    x->cap = cap, x->by_bytes = by_bytes, x->best = INFINITY, x->work = 0;
    search(x, &none);
    *best = x->best;
    return x->work <= x->most_work;
}

/* -- small graphs ------------------------------------------------------------------------------ */

static const struct {
    int n, size[3], most; /* nodes */
} meshes[] = {
    { 1, { 2 }, 8 }, { 1, { 4 }, 8 }, { 2, { 2, 2 }, 8 }, { 2, { 2, 4 }, 8 }, { 3, { 2, 2, 2 }, 5 }
};

/* One of four is a stack of blocks, which fold. */
static world draw_world(uint64_t seed)
{
    world w = { .r = draw_from(seed), .arena = pl_arena_new("test") };
    int k = draw(&w.r, sizeof meshes / sizeof *meshes);
    if (draw(&w.r, 4))
        w.graph = tiny_graph(&w.r, meshes[k].most, w.arena);
    else
        w.graph = tiny_stack_graph(&w.r, 4, 1, w.arena);
    w.fold = pl_fold_find(w.graph, w.arena);
    w.mesh = tiny_mesh(&w.r, meshes[k].n, meshes[k].size, w.arena);
    w.speed = tiny_speed(&w.r);
    if (!draw(&w.r, 4)) tiny_balance(&w.r, w.graph, w.mesh, &w.speed);
    return w;
}

typedef struct tally {
    int graphs, compared, folded, sends, caps, infeasible, skipped_caps, unproven, unproven_caps;
    double gap;
} tally;

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* bound <= best <= time, equal where that is proven; infeasible where there is no best. `opened` is
 * of earlier searches of t, or NULL. */
static pl_answer check_answer(world *w, pl_problem *t, double cap, double best,
                              pl_chain_opened **opened, tally *y)
{
    pl_answer x = { 0 };
    pl_err err = { 0 };
    int seed = (int)w->r.seed;
    bool ok = pl_problem_below(t, cap, false, NULL, opened, w->arena, &x, &err);
    EXPECT(ok == isfinite(best), "seed %d, cap %g: brute force finds %g, the planner %s", seed, cap,
           best, ok ? "a plan" : err.msg);
    y->infeasible += !ok;
    EXPECT(ok || err.code == PL_EINFEASIBLE, "seed %d: %s", seed, err.msg);
    if (!ok) return x;
    pl_cost told = pl_problem_cost(t, x.value);
    EXPECT(is_near(told.time, x.time) && told.memory == x.memory && x.memory <= cap,
           "seed %d, cap %g: %.12g s, %.12g bytes; the tables say %.12g, %.12g", seed, cap, x.time,
           x.memory, told.time, told.memory);
    EXPECT(x.bound <= best * (1 + 1e-9) && best <= x.time * (1 + 1e-9) &&
               (!x.proven || is_near(x.time, best)),
           "seed %d, cap %g: brute force %.12g, the planner %.12g (bound %.12g, %sproven)", seed,
           cap, best, x.time, x.bound, x.proven ? "" : "not ");
    pl_chain c = pl_problem_chain(t, 1, w->arena);
    y->sends += pl_chain_cost(&c, x.value).time < x.time * (1 - 1e-9);
    if (!x.proven) {
        *(isinf(cap) ? &y->unproven : &y->unproven_caps) += 1;
        y->gap = fmax(y->gap, x.time / best - 1);
    }
    return x;
}

/* Caps between the least that any plan takes and what the fastest takes; some at the least, some
 * below it. */
static void check_caps(world *w, pl_problem *t, brute *b, double memory, tally *y)
{
    double least, best;
    pl_chain_opened *opened = NULL;
    if (!brute_min(b, INFINITY, true, &least)) return;
    EXPECT(least <= memory, "seed %d: %g bytes are less than the least, %g", (int)w->r.seed, memory,
           least);
    for (int i = 0; i < 2; i++) {
        int kind = draw(&w->r, 8);
        double part = pl_rng_uniform(w->r.rng, w->r.drawn++);
        double cap = kind == 0                ? least
                     : kind == 1 && least > 0 ? least - 1
                                              : least + part * (memory - least);
        bool done = brute_min(b, cap, false, &best);
        y->caps += done, y->skipped_caps += !done;
        if (!done) continue;
        check_answer(w, t, cap, best, NULL, y);
        check_answer(w, t, cap, best, &opened, y); /* the second time with what it found at first */
    }
}

/* All messages may pass beside all computing, and take about as long: tables as a larger graph has
 * them. */
static void hide_messages(pl_problem *t)
{
    for (int k = 0; k < PL_N_EDGES; k++)
        for (int i = 0; i < t->edges[k].n; i++)
            t->edges[k].at[i].hidden = 0.9, t->edges[k].at[i].window = INFINITY;
}

static void check_world(world *w, bool hide, tally *y)
{
    double best;
    pl_problem *t = pl_problem_new(w->graph, &w->fold, w->mesh, &w->speed, w->arena);
    if (hide) hide_messages(t);
    brute b = brute_of(t, MOST_WORK, w->arena);
    y->graphs++;
    if (!brute_min(&b, INFINITY, false, &best)) return;
    y->compared++;
    y->folded += t->copies > 1;
    pl_answer x = check_answer(w, t, INFINITY, best, NULL, y);
    check_caps(w, t, &b, x.memory, y);
}

static void report(const tally *y)
{
    print_message("%d graphs compared, %d have too many plans; %d folded, %d not proven\n",
                  y->compared, y->graphs - y->compared, y->folded, y->unproven);
    print_message("%d caps compared, %d left out; %d infeasible, %d not proven\n", y->caps,
                  y->skipped_caps, y->infeasible, y->unproven_caps);
    print_message("%d answers send for longer than they compute; at most %.2g slower than the "
                  "best\n",
                  y->sends, y->gap);
}

static void test_equal_to_brute_force(void **state)
{
    tally y = { 0 };
    (void)state;
    for (uint64_t seed = 1; y.compared < GRAPHS; seed++) {
        world w = draw_world(seed);
        check_world(&w, false, &y);
        pl_arena_free(w.arena);
    }
    report(&y);
    assert_true((y.graphs - y.compared) * 100 < 15 * y.graphs);
    assert_true(y.folded >= GRAPHS / 20);
    assert_true(y.unproven * 50 <= y.compared && y.unproven_caps * 20 <= y.caps);
    assert_true(y.infeasible > 0 && y.caps >= GRAPHS);
}

static void test_equal_where_messages_hide(void **state)
{
    tally y = { 0 };
    (void)state;
    for (uint64_t seed = 1; y.compared < HIDING; seed++) {
        world w = draw_world(seed);
        tiny_balance(&w.r, w.graph, w.mesh, &w.speed);
        check_world(&w, true, &y);
        pl_arena_free(w.arena);
    }
    report(&y);
    assert_true(y.sends >= HIDING / 20);
}

/* -- recomputed blocks ------------------------------------------------------------------------- */

static world draw_trained(uint64_t seed)
{
    world w = { .r = draw_from(seed), .arena = pl_arena_new("test") };
    int k = draw(&w.r, 2);
    w.graph = tiny_stack_graph(&w.r, 4, 3, w.arena);
    w.fold = pl_fold_find(w.graph, w.arena);
    w.mesh = tiny_mesh(&w.r, meshes[k].n, meshes[k].size, w.arena);
    w.speed = tiny_speed(&w.r);
    return w;
}

/* Does recomputing a block give anything back? */
static bool can_free(const pl_problem *t)
{
    const pl_edges *e = &t->edges[PL_EDGE_BLOCK];
    bool any = false;
    for (int i = 0; i < e->n; i++) any |= e->at[i].sum.memory && e->at[i].sum.a == t->says[1];
    return any;
}

/* Copies that make something again; -1: more than one before it. */
static int count_again(const pl_problem *t, const pl_answer *x)
{
    int n = 0;
    for (int i = 0; i < t->copies; i++) {
        const int what = pl_problem_again(t, x->value, i);
        if (i && what < pl_problem_again(t, x->value, i - 1)) return -1;
        n += what < t->n_again - 1;
    }
    return n;
}

/* A plan keeps all that its answer does not make again, and nothing of the rest. */
static void check_plan(const pl_problem *t, const pl_answer *x, pl_arena *a)
{
    const pl_plan *p = pl_problem_plan(t, x->value, NULL, "auto", NULL, a);
    for (int i = 0; i < t->graph->values.n; i++) {
        const bool again = t->again[pl_problem_again(t, x->value, t->copy[i])][i];
        assert_int_equal(p->recompute[i], again);
        assert_true(!again || !p->kept[i]);
    }
}

/* Any part of the blocks may be recomputed. Returns how many are at most, below what the fastest
 * takes; -1: nothing was compared. */
static int check_again(world *w, tally *y)
{
    const int seed = (int)w->r.seed;
    pl_problem *plain = pl_problem_new(w->graph, &w->fold, w->mesh, &w->speed, w->arena);
    pl_problem *t = pl_problem_recompute(plain, false, w->arena);
    pl_chain_opened *opened = NULL;
    pl_answer all;
    pl_err err = { 0 };
    int none[2], n = -1;
    double best, least;
    for (int k = 0; k < 2; k++) none[k] = t->says[k] < 0 ? -1 : t->n_again - 1;
    if (t->copies < 2 || t->says[1] < 0 || !can_free(t)) return -1;
    y->graphs++;
    brute b = brute_of(t, MOST_WORK, w->arena);
    if (!brute_min(&b, INFINITY, false, &best) || !brute_min(&b, INFINITY, true, &least)) return -1;
    assert_true(pl_problem_below(plain, INFINITY, false, NULL, &opened, w->arena, &all, &err));
    EXPECT(!all.proven || is_near(all.time, best), "seed %d: recomputing saves time", seed);
    opened = pl_chain_opened_more(opened, &plain->chain, none, w->arena);
    for (int i = 0; i < 4; i++) {
        const double cap = all.memory - (all.memory - least) * i / 3;
        if (!brute_min(&b, cap, false, &best)) continue;
        const pl_answer x = check_answer(w, t, cap, best, &opened, y);
        const int again = count_again(t, &x);
        EXPECT(again >= 0, "seed %d: later blocks make more again", seed);
        if (again > n) n = again;
        check_plan(t, &x, w->arena);
        y->caps++;
    }
    y->compared++;
    check_caps(w, t, &b, all.memory, y);
    return n;
}

static void test_equal_where_blocks_are_recomputed(void **state)
{
    tally y = { 0 };
    int some = 0;
    (void)state;
    for (uint64_t seed = 1; y.compared < AGAIN; seed++) {
        world w = draw_trained(seed);
        some += check_again(&w, &y) > 0;
        pl_arena_free(w.arena);
    }
    report(&y);
    print_message("%d of them recompute\n", some);
    assert_true(some >= AGAIN / 4);
}

/* -- brute force itself ------------------------------------------------------------------------ */

/* Every combination in turn. */
static double try_all(const pl_sum *sending, const pl_sum *computing, double cap, pl_arena *a)
{
    int *at = PL_NEW_N(a, int, sending->n + 1);
    double best = INFINITY;
    for (int v = 0; v >= 0;) {
        pl_cost x = pl_sum_cost(sending, at), y = pl_sum_cost(computing, at);
        if (x.memory <= cap) best = fmin(best, fmax(x.time, y.time));
        for (v = sending->n - 1; v >= 0 && ++at[v] == sending->n_values[v]; v--) at[v] = 0;
    }
    return best;
}

static void test_brute_force_tries_all(void **state)
{
    (void)state;
    int n = 0;
    for (uint64_t seed = 1; seed <= ROUNDS_OF(300); seed++) {
        world w = draw_world(seed);
        pl_problem *t = pl_problem_new(w.graph, NULL, w.mesh, &w.speed, w.arena);
        brute b = brute_of(t, MOST_WORK, w.arena);
        pl_chain ends[2] = { pl_problem_chain(t, 0, w.arena), pl_problem_chain(t, 1, w.arena) };
        double plans = 1, best, cap = 0;
        for (int v = 0; v < ends->outside.n; v++) plans *= ends->outside.n_values[v];
        if (plans <= 20000) {
            for (int v = 0; v < ends->outside.n; v++)
                for (int i = 0; i < ends->outside.n_values[v]; i++)
                    cap += ends->outside.memory[v][i] / ends->outside.n_values[v];
            for (int k = 0; k < 2; k++) {
                double all =
                    try_all(&ends[0].outside, &ends[1].outside, k ? cap : INFINITY, w.arena);
                assert_true(brute_min(&b, k ? cap : INFINITY, false, &best));
                EXPECT(isinf(all) ? isinf(best) : is_near(best, all), "seed %d: %.12g of all %.12g",
                       (int)seed, best, all);
            }
            n++;
        }
        pl_arena_free(w.arena);
    }
    assert_true(n >= ROUNDS_OF(50));
}

/* -- stacks ------------------------------------------------------------------------------------ */

static world draw_stack(uint64_t seed)
{
    world w = { .r = draw_from(seed), .arena = pl_arena_new("test") };
    int k = draw(&w.r, 3);
    w.graph = tiny_stack_graph(&w.r, 5, MOST_STEPS - 1, w.arena);
    w.fold = pl_fold_find(w.graph, w.arena);
    w.mesh = tiny_mesh(&w.r, meshes[k].n, meshes[k].size, w.arena);
    w.speed = tiny_speed(&w.r);
    w.speed.hidden = 0; /* of equal blocks the one counts that hides most (cost/problem.h) */
    return w;
}

/* Do two chains have the same least time, as far as that is proven? *memory: what it takes. */
static bool agree(const pl_chain *a, const pl_chain *b, double cap, world *w, double *memory)
{
    pl_answer x = { 0 }, y = { 0 };
    pl_err err = { 0 };
    bool ok = pl_chain_min(a, cap, NULL, w->arena, &x, &err);
    if (ok != pl_chain_min(b, cap, NULL, w->arena, &y, &err)) return false;
    *memory = x.memory;
    if (!ok) return true;
    if (x.proven && y.proven) return fabs(x.time - y.time) <= 1e-12 * x.time;
    return x.bound <= y.time * (1 + 1e-9) && y.bound <= x.time * (1 + 1e-9);
}

/* Without a cap, and with one of some part of what the fastest takes. */
static bool agree_all(const pl_chain *a, const pl_chain *b, world *w, double *cap)
{
    double memory;
    *cap = INFINITY;
    if (!agree(a, b, *cap, w, &memory)) return false;
    *cap = memory * (0.5 + 0.5 * pl_rng_uniform(w->r.rng, w->r.drawn++));
    return agree(a, b, *cap, w, &memory);
}

static void test_equal_written_out(void **state)
{
    int n = 0;
    (void)state;
    for (uint64_t seed = 1; n < STACKS; seed++) {
        world w = draw_stack(seed);
        pl_problem *t = pl_problem_new(w.graph, &w.fold, w.mesh, &w.speed, w.arena);
        pl_chain flat = { .outside = pl_chain_unroll(&t->chain, w.arena), .copies = 1 };
        double cap;
        n += t->copies > 1;
        EXPECT(t->copies == 1 || agree_all(&t->chain, &flat, &w, &cap),
               "seed %d, cap %g: the chain differs from the same written out", (int)seed, cap);
        pl_arena_free(w.arena);
    }
}

/* A graph that is folded has the same least time as node by node. */
static void test_fold_changes_nothing(void **state)
{
    int n = 0;
    (void)state;
    for (uint64_t seed = 1; n < STACKS; seed++) {
        world w = draw_stack(seed);
        pl_problem *t = pl_problem_new(w.graph, &w.fold, w.mesh, &w.speed, w.arena);
        pl_problem *flat = pl_problem_new(w.graph, NULL, w.mesh, &w.speed, w.arena);
        double cap;
        n += t->copies > 1;
        EXPECT(t->copies == 1 || agree_all(&t->chain, &flat->chain, &w, &cap),
               "seed %d, cap %g: folded differs from node by node", (int)seed, cap);
        pl_arena_free(w.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_brute_force),
        cmocka_unit_test(test_equal_where_messages_hide),
        cmocka_unit_test(test_equal_where_blocks_are_recomputed),
        cmocka_unit_test(test_brute_force_tries_all),
        cmocka_unit_test(test_equal_written_out),
        cmocka_unit_test(test_fold_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
