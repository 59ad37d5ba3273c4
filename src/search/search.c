#include "search/cap.h"
#include "search/chain.h"
#include "search/copies.h"

static pl_found solve_sum(void *self, pl_cost w, const pl_search_options *o, pl_arena *out)
{
    return pl_solve_sum(self, w, o, out);
}

static pl_cost cost_sum(const void *self, const int *value)
{
    return pl_sum_cost(self, value);
}

static void mix_sum(void *self, int n_known, int *const *known, pl_mix *m, pl_arena *out)
{
    (void)n_known;
    (void)known;
    pl_mix_sum(self, m, out);
}

static bool check_cap(double cap, pl_err *err)
{
    if (cap >= 0) return true;
    return pl_err_set(err, PL_EINPUT, "a memory cap of %g; it is 0 or more", cap);
}

static bool min_sum(pl_sum *s, double cap, const pl_search_options *options, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    pl_search_options o = pl_solve_defaults(options);
    const pl_capped p = { s, solve_sum, cost_sum, mix_sum };
    return pl_cap_min(&p, cap, &o, out, answer, err);
}

bool pl_search_min(const pl_sum *s, double cap, const pl_search_options *options, pl_arena *out,
                   pl_answer *answer, pl_err *err)
{
    pl_sum copy = *s;
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_sum_check(s, "sum", err));
    return min_sum(&copy, cap, options, out, answer, err);
}

/* Chains of at most so many entries may be written out where runs of copies find no proof. */
enum { WRITTEN_OUT = 1 << 19 };

static bool is_short(const pl_chain *c)
{
    double entries = 0;
    for (int p = 0; p < c->block.n_pairs; p++)
        entries +=
            (double)c->block.n_values[c->block.pair[p].a] * c->block.n_values[c->block.pair[p].b];
    return entries * c->copies <= WRITTEN_OUT && pl_chain_variables(c) <= 512;
}

/* A chain from price to price: the next one starts from the potentials of the last. */
typedef struct links {
    const pl_chain *chain;
    bool capped;
    pl_ring *last;
    pl_arena *arena; /* of `last` */
} links;

static pl_found solve_chain(void *self, pl_cost w, const pl_search_options *o, pl_arena *out)
{
    links *l = self;
    if (!l->capped) return pl_copies_solve(l->chain, w, o, NULL, out, NULL, NULL);
    pl_arena *arena = pl_arena_new("potentials");
    pl_ring *ring;
    pl_found f = pl_copies_solve(l->chain, w, o, l->last, out, &ring, arena);
    pl_arena_free(l->arena);
    l->arena = arena;
    l->last = ring;
    return f;
}

static pl_cost cost_chain(const void *self, const int *value)
{
    return pl_chain_cost(((const links *)self)->chain, value);
}

static void mix_chain(void *self, int n_known, int *const *known, pl_mix *m, pl_arena *out)
{
    links *l = self;
    pl_mix_chain(l->chain, l->last, n_known, known, m, out);
    double gap = pl_solve_goal(m->cost.time, m->o) - m->bound;
    if (gap <= 0 || !is_short(l->chain)) return;
    pl_arena *tmp = pl_arena_new("short chain");
    pl_sum s = pl_chain_unroll(l->chain, tmp);
    pl_mix_sum(&s, m, out);
    pl_arena_free(tmp);
}

bool pl_chain_min(const pl_chain *c, double cap, const pl_search_options *options, pl_arena *out,
                  pl_answer *answer, pl_err *err)
{
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_chain_check(c, err));
    pl_search_options o = pl_solve_defaults(options);
    pl_arena *tmp = pl_arena_new("chain");
    bool ok;
    if (c->copies < 3 || o.no_power) {
        pl_sum s = pl_chain_unroll(c, tmp);
        ok = min_sum(&s, cap, &o, out, answer, err);
    } else {
        links l = { c, cap < INFINITY, NULL, NULL };
        const pl_capped p = { &l, solve_chain, cost_chain, mix_chain };
        ok = pl_cap_min(&p, cap, &o, out, answer, err);
        pl_arena_free(l.arena);
    }
    pl_arena_free(tmp);
    return ok;
}

bool pl_chain_tied(const pl_chain *c, double cap, const pl_search_options *options, pl_arena *out,
                   pl_answer *answer, pl_err *err)
{
    PL_TRY(check_cap(cap, err));
    PL_TRY(pl_chain_check(c, err));
    pl_arena *tmp = pl_arena_new("tied chain");
    pl_sum s = pl_chain_tie(c, tmp);
    bool ok = min_sum(&s, cap, options, tmp, answer, err);
    if (ok) {
        int n = c->outside.n, b = c->block.n;
        int *value = pl_arena_get(out, (size_t)pl_chain_variables(c), sizeof *value);
        for (int64_t v = 0; v < pl_chain_variables(c); v++)
            value[v] = answer->value[v < n ? v : n + (v - n) % b];
        answer->value = value;
    }
    pl_arena_free(tmp);
    return ok;
}
