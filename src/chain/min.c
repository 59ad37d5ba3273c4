/* The ways through a chain. Read pl_chain_min(): short chains are written out (is_short), others
 * folded (solve_chain); a choice with all copies alike is where the search starts (start_tied). */
#include "chain/pair.h"
#include "search/cap.h"
#include "chain/solve.h"

#include <math.h>

enum { MOST_VARIABLES = 512, MOST_ENTRIES = 1 << 17, TIED_PART = 4, TIED_PASSES = 60 };
static const double SHORT = 2.5;  /* times what a ring with its ends holds */
static const double ROUGH = 1e-3; /* gap of a first choice under a cap */

/* Chains with few copies, or small ones, are written out: folding them would not save time. */
static bool is_short(const pl_chain *chain, const pl_search_options *options)
{
    if (chain->copies < 3 || options->no_power || options->no_unroll)
        return !options->no_unroll || chain->copies < 3;
    double outside = pl_chain_outside_entries(chain), block = pl_chain_block_entries(chain),
           all = outside + chain->copies * block;
    if (all < SHORT * (outside + 2 * block)) return true;
    return pl_chain_variables(chain) <= MOST_VARIABLES && all <= MOST_ENTRIES;
}

/* The best choice with all copies alike, which is soon found where they are most of the chain, and
 * seldom far from the best. Returns the work. */
static int64_t start_tied(const pl_chain *chain, pl_cost weights, pl_search_options *options,
                          pl_arena *arena)
{
    double outside = pl_chain_outside_entries(chain), block = pl_chain_block_entries(chain);
    if (options->no_bound || options->start || outside > chain->copies * block) return 0;
    if (TIED_PASSES * (outside + block) > (double)options->effort / TIED_PART) return 0;
    pl_search_options part = *options;
    part.effort /= TIED_PART;
    pl_sum tied = pl_chain_tie(chain, arena);
    pl_minimum found = pl_solve_sum(&tied, weights, &part, arena);
    if (found.value) options->start = pl_chain_untie(chain, found.value, arena);
    return found.work;
}

/* The same under a cap. */
static void start_capped(const pl_chain *chain, double cap, pl_search_options *options,
                         pl_arena *arena)
{
    pl_search_options part = *options;
    pl_bracket bracket;
    part.effort /= 2 * TIED_PART;
    part.gap = fmax(part.gap, ROUGH);
    if (chain->copies < 2 || options->no_bound || options->start) return;
    pl_sum tied = pl_chain_tie(chain, arena);
    if (pl_cap_bracket(&tied, cap, &part, arena, &bracket) && bracket.best.value)
        options->start = pl_chain_untie(chain, bracket.best.value, arena);
}

/* A chain from price to price: the next one starts from the potentials of the last. */
typedef struct links {
    const pl_chain *chain;
    bool keeps; /* the potentials, for the next price */
    pl_ring *last;
    pl_arena *arena; /* of `last` */
} links;

static pl_minimum solve_chain(void *self, pl_cost weights, const pl_search_options *options,
                              pl_arena *out)
{
    links *l = self;
    pl_search_options o = *options;
    pl_arena *arena = pl_arena_new("potentials");
    pl_ring *ring;
    int64_t work = start_tied(l->chain, weights, &o, arena);
    pl_minimum found = pl_chain_solve(l->chain, weights, &o, l->last, out, &ring, arena);
    found.work += work;
    pl_arena_free(l->arena);
    l->arena = arena;
    l->last = l->keeps && weights.time > 0 ? ring : NULL; /* bytes are no start for seconds */
    return found;
}

/* Without a cap. */
static pl_minimum solve_open(const pl_chain *chain, pl_cost weights, pl_search_options *options,
                             pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("chain");
    links l = { .chain = chain };
    pl_minimum found;
    if (is_short(chain, options)) {
        pl_sum s = pl_chain_unroll(chain, tmp);
        start_tied(chain, weights, options, tmp);
        found = pl_solve_sum(&s, weights, options, out);
    } else {
        found = solve_chain(&l, weights, options, out);
    }
    pl_arena_free(l.arena);
    pl_arena_free(tmp);
    return found;
}

/* Few copies are written out, of many the answers at prices are spliced. */
static bool min_capped(const pl_chain *chain, double cap, pl_search_options *options, pl_arena *out,
                       pl_answer *answer, pl_err *err)
{
    if (!is_short(chain, options) && chain->copies >= PL_MANY_COPIES) {
        const pl_chain_pair pair = { { chain, chain } };
        return pl_chain_pair_min(pair, cap, false, options, NULL, out, answer, NULL, err);
    }
    pl_arena *tmp = pl_arena_new("chain");
    pl_sum s = pl_chain_unroll(chain, tmp);
    start_capped(chain, cap, options, tmp);
    bool ok = pl_cap_sum(&s, cap, options, out, answer, err);
    pl_arena_free(tmp);
    return ok;
}

bool pl_chain_min(const pl_chain *chain, double cap, const pl_search_options *options,
                  pl_arena *out, pl_answer *answer, pl_err *err)
{
    PL_TRY(pl_cap_check(cap, err));
    PL_TRY(pl_chain_check(chain, err));
    pl_search_options o = pl_solve_defaults(options);
    if (cap < INFINITY) return min_capped(chain, cap, &o, out, answer, err);
    pl_minimum found = solve_open(chain, (pl_cost){ 1, 0 }, &o, out);
    PL_TRY(pl_cap_legal(&found, err));
    *answer =
        pl_cap_answer(found.value, pl_chain_cost(chain, found.value), found.bound, 0, found.work);
    return true;
}

/* An answer to a weighted sum: its own time and memory, the bound of the sum. */
static bool take_weighted(const pl_chain *chain, pl_cost weights, pl_minimum found,
                          pl_answer *answer, pl_err *err)
{
    PL_TRY(pl_cap_legal(&found, err));
    pl_cost cost = pl_chain_cost(chain, found.value);
    double sum = weights.time * cost.time + weights.memory * cost.memory;
    *answer = (pl_answer){ .value = found.value,
                           .time = cost.time,
                           .memory = cost.memory,
                           .bound = found.bound,
                           .price = weights.memory,
                           .proven = sum - found.bound <= 1e-9 * fabs(sum),
                           .work = found.work };
    return true;
}

bool pl_chain_least(const pl_chain *chain, const pl_search_options *options, pl_arena *out,
                    pl_answer *answer, pl_err *err)
{
    const pl_cost weights = { 0, 1 };
    PL_TRY(pl_chain_check(chain, err));
    pl_search_options o = pl_solve_defaults(options);
    return take_weighted(chain, weights, solve_open(chain, weights, &o, out), answer, err);
}

struct pl_chain_last {
    pl_arena *own; /* this; that of the links is a new one at each price */
    links links;
};

pl_chain_last *pl_chain_last_new(void)
{
    pl_arena *arena = pl_arena_new("last price");
    pl_chain_last *last = PL_NEW(arena, pl_chain_last);
    *last = (pl_chain_last){ .own = arena, .links = { .keeps = true } };
    return last;
}

void pl_chain_last_free(pl_chain_last *last)
{
    if (!last) return;
    pl_arena_free(last->links.arena);
    pl_arena_free(last->own);
}

bool pl_chain_priced(const pl_chain *chain, double price, pl_chain_last *last,
                     const pl_search_options *options, pl_arena *out, pl_answer *answer,
                     pl_err *err)
{
    const pl_cost weights = { 1, price };
    PL_TRY(pl_chain_check(chain, err));
    pl_search_options o = pl_solve_defaults(options);
    pl_minimum found;
    if (!last || is_short(chain, &o)) {
        found = solve_open(chain, weights, &o, out);
    } else {
        last->links.chain = chain;
        found = solve_chain(&last->links, weights, &o, out);
    }
    return take_weighted(chain, weights, found, answer, err);
}

bool pl_chain_tied(const pl_chain *chain, double cap, const pl_search_options *options,
                   pl_arena *out, pl_answer *answer, pl_err *err)
{
    PL_TRY(pl_cap_check(cap, err));
    PL_TRY(pl_chain_check(chain, err));
    pl_arena *tmp = pl_arena_new("tied chain");
    pl_sum s = pl_chain_tie(chain, tmp);
    pl_search_options o = pl_solve_defaults(options);
    bool ok = pl_cap_min(&s, cap, &o, tmp, answer, err);
    if (ok) answer->value = pl_chain_untie(chain, answer->value, out);
    pl_arena_free(tmp);
    return ok;
}
