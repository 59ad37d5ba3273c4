#include "search/cap.h"
#include "search/chain.h"
#include "search/copies.h"

static bool check_cap(double cap, pl_err *err)
{
    if (cap >= 0) return true;
    return pl_err_set(err, PL_EINPUT, "a memory cap of %g; it is 0 or more", cap);
}

static bool min_sum(const pl_sum *s, double cap, const pl_search_options *o, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    if (cap < INFINITY) return pl_cap_sum(s, cap, o, out, answer, err);
    pl_elimination f = pl_solve_sum(s, (pl_cost){ 1, 0 }, o, out);
    PL_TRY(pl_cap_legal(&f, err));
    *answer = pl_cap_answer(f.value, pl_sum_cost(s, f.value), f.bound, 0, f.work);
    return true;
}

bool pl_search_min(const pl_sum *s, double cap, const pl_search_options *options, pl_arena *out,
                   pl_answer *answer, pl_err *err)
{
    pl_search_options o = pl_solve_defaults(options);
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_sum_check(s, "sum", err));
    return min_sum(s, cap, &o, out, answer, err);
}

enum { MOST_VARIABLES = 512, MOST_ENTRIES = 1 << 17, TIED_PART = 4, TIED_PASSES = 60 };
static const double SHORT = 2.5;  /* times what a ring with its ends holds */
static const double ROUGH = 1e-3; /* gap of a first choice under a cap */

static double count_entries(int n, const pl_sum_pair *pair, const int *na, const int *nb)
{
    double entries = 0;
    for (int p = 0; p < n; p++) entries += (double)na[pair[p].a] * nb[pair[p].b];
    return entries;
}

/* Entries of the tables outside, and of one copy. */
static double outside_entries(const pl_chain *c)
{
    const int *n = c->outside.n_values;
    return count_entries(c->outside.n_pairs, c->outside.pair, n, n);
}

static double block_entries(const pl_chain *c)
{
    const int *na = c->outside.n_values, *nb = c->block.n_values;
    return count_entries(c->block.n_pairs, c->block.pair, nb, nb) +
           count_entries(c->n_every, c->every, na, nb) + count_entries(c->n_links, c->link, nb, nb);
}

/* Chains with few copies, or small ones, are written out: folding them would not save time. */
static bool is_short(const pl_chain *c, const pl_search_options *o)
{
    if (c->copies < 3 || o->no_power || o->no_unroll) return !o->no_unroll || c->copies < 3;
    double outside = outside_entries(c), block = block_entries(c),
           all = outside + c->copies * block;
    if (all < SHORT * (outside + 2 * block)) return true;
    return pl_chain_variables(c) <= MOST_VARIABLES && all <= MOST_ENTRIES;
}

/* The best choice with all copies alike, which is soon found where they are most of the chain, and
 * seldom far from the best. Returns the work. */
static int64_t start_tied(const pl_chain *c, pl_cost w, pl_search_options *o, pl_arena *a)
{
    double outside = outside_entries(c), block = block_entries(c);
    if (o->no_bound || o->start || outside > c->copies * block) return 0;
    if (TIED_PASSES * (outside + block) > (double)o->effort / TIED_PART) return 0;
    pl_search_options part = *o;
    part.effort /= TIED_PART;
    pl_sum tied = pl_chain_tie(c, a);
    pl_elimination f = pl_solve_sum(&tied, w, &part, a);
    if (f.value) o->start = pl_chain_untie(c, f.value, a);
    return f.work;
}

/* The same under a cap. */
static void start_capped(const pl_chain *c, double cap, pl_search_options *o, pl_arena *a)
{
    pl_search_options part = *o;
    pl_sides sides;
    part.effort /= 2 * TIED_PART;
    part.gap = fmax(part.gap, ROUGH);
    if (c->copies < 2 || o->no_bound || o->start) return;
    pl_sum tied = pl_chain_tie(c, a);
    if (pl_cap_look(&tied, cap, &part, a, &sides) && sides.best.value)
        o->start = pl_chain_untie(c, sides.best.value, a);
}

/* A chain from price to price: the next one starts from the potentials of the last. */
typedef struct links {
    const pl_chain *chain;
    bool capped;
    pl_ring *last;
    pl_arena *arena; /* of `last` */
} links;

static pl_elimination solve_chain(void *self, pl_cost w, const pl_search_options *options,
                                  pl_arena *out)
{
    links *l = self;
    pl_search_options o = *options;
    pl_arena *arena = pl_arena_new("potentials");
    pl_ring *ring;
    int64_t work = start_tied(l->chain, w, &o, arena);
    pl_elimination f = pl_copies_solve(l->chain, w, &o, l->last, out, &ring, arena);
    f.work += work;
    pl_arena_free(l->arena);
    l->arena = arena;
    l->last = l->capped && w.time > 0 ? ring : NULL; /* bytes are no start for seconds */
    return f;
}

static const pl_ring *last_potentials(const void *self)
{
    return ((const links *)self)->last;
}

/* Without a cap. */
static pl_elimination solve_open(const pl_chain *c, pl_cost w, pl_search_options *o, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("chain");
    links l = { .chain = c };
    pl_elimination f;
    if (is_short(c, o)) {
        pl_sum s = pl_chain_unroll(c, tmp);
        start_tied(c, w, o, tmp);
        f = pl_solve_sum(&s, w, o, out);
    } else {
        f = solve_chain(&l, w, o, out);
    }
    pl_arena_free(l.arena);
    pl_arena_free(tmp);
    return f;
}

static bool min_capped(const pl_chain *c, double cap, pl_search_options *o, pl_arena *out,
                       pl_answer *answer, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("chain");
    links l = { .chain = c, .capped = true };
    const pl_capped p = { c, &l, solve_chain, last_potentials };
    bool ok;
    if (is_short(c, o)) {
        pl_sum s = pl_chain_unroll(c, tmp);
        start_capped(c, cap, o, tmp);
        ok = pl_cap_sum(&s, cap, o, out, answer, err);
    } else {
        ok = pl_cap_chain(&p, cap, o, out, answer, err);
    }
    pl_arena_free(l.arena);
    pl_arena_free(tmp);
    return ok;
}

bool pl_chain_min(const pl_chain *c, double cap, const pl_search_options *options, pl_arena *out,
                  pl_answer *answer, pl_err *err)
{
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_chain_check(c, err));
    pl_search_options o = pl_solve_defaults(options);
    if (cap < INFINITY) return min_capped(c, cap, &o, out, answer, err);
    pl_elimination f = solve_open(c, (pl_cost){ 1, 0 }, &o, out);
    PL_TRY(pl_cap_legal(&f, err));
    *answer = pl_cap_answer(f.value, pl_chain_cost(c, f.value), f.bound, 0, f.work);
    return true;
}

bool pl_chain_least(const pl_chain *c, const pl_search_options *options, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    PL_TRY(pl_chain_check(c, err));
    pl_search_options o = pl_solve_defaults(options);
    pl_elimination f = solve_open(c, (pl_cost){ 0, 1 }, &o, out);
    PL_TRY(pl_cap_legal(&f, err));
    pl_cost cost = pl_chain_cost(c, f.value);
    *answer = (pl_answer){ .value = f.value,
                           .time = cost.time,
                           .memory = cost.memory,
                           .bound = f.bound,
                           .proven = cost.memory - f.bound <= 1e-9 * cost.memory,
                           .work = f.work };
    return true;
}

bool pl_chain_tied(const pl_chain *c, double cap, const pl_search_options *options, pl_arena *out,
                   pl_answer *answer, pl_err *err)
{
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_chain_check(c, err));
    pl_arena *tmp = pl_arena_new("tied chain");
    pl_sum s = pl_chain_tie(c, tmp);
    pl_search_options o = pl_solve_defaults(options);
    bool ok = min_sum(&s, cap, &o, tmp, answer, err);
    if (ok) answer->value = pl_chain_untie(c, answer->value, out);
    pl_arena_free(tmp);
    return ok;
}
