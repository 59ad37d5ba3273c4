/* The ways through a chain. Read pl_chain_min(): short chains are written out (is_short), others
 * folded (solve_chain); a choice with all copies alike is where the search starts (start_tied). */
#include "chain/pair.h"
#include "chain/reduce.h"
#include "search/cap.h"
#include "chain/solve.h"

#include <math.h>

enum { MOST_VARIABLES = 512, MOST_ENTRIES = 1 << 17 };
enum { TIED_PASSES = 120 };      /* through all tables: on a first choice */
enum { CAPPED_PART = 8 };        /* of the effort: the same under a cap   */
enum { MOST_OUTSIDE = 8 };       /* times the block */
static const double SHORT = 2.5; /* times what a ring with its ends holds */
static const double TIED_GAP = 1e-4;
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
 * seldom far from the best; unless what it would start from is better. Returns the work. */
static int64_t start_tied(const pl_chain *chain, pl_cost weights, pl_search_options *options,
                          pl_arena *arena)
{
    double outside = pl_chain_outside_entries(chain), block = pl_chain_block_entries(chain);
    const int64_t effort = (int64_t)(TIED_PASSES * (outside + block));
    if (options->no_bound || outside > chain->copies * block) return 0;
    if (options->start && outside > MOST_OUTSIDE * block) return 0; /* as long as all the rest */
    if (effort > options->effort) return 0;
    pl_search_options part = *options;
    part.effort = effort;
    if (part.work_limit > effort) part.work_limit = effort;
    part.gap = fmax(part.gap, TIED_GAP);
    part.start = NULL;
    pl_sum tied = pl_chain_tie(chain, arena);
    pl_minimum found = pl_solve_sum(&tied, weights, &part, arena);
    int *value = found.value ? pl_chain_untie(chain, found.value, arena) : NULL;
    if (value && (!options->start || pl_chain_weighted(chain, weights, value) <
                                         pl_chain_weighted(chain, weights, options->start)))
        options->start = value;
    return found.work;
}

/* The same under a cap. */
static void start_capped(const pl_chain *chain, double cap, pl_search_options *options,
                         pl_arena *arena)
{
    pl_search_options part = *options;
    pl_bracket bracket;
    part.effort /= CAPPED_PART;
    part.gap = fmax(part.gap, ROUGH);
    if (chain->copies < 2 || options->no_bound || options->start) return;
    pl_sum tied = pl_chain_tie(chain, arena);
    if (pl_cap_bracket(&tied, cap, &part, arena, &bracket) && bracket.best.value)
        options->start = pl_chain_untie(chain, bracket.best.value, arena);
}

/* Folded. */
static pl_minimum solve_chain(const pl_chain *chain, pl_cost weights,
                              const pl_search_options *options, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("chain");
    pl_search_options o = *options;
    const int64_t work = start_tied(chain, weights, &o, tmp);
    pl_minimum found = pl_chain_solve(chain, weights, &o, out);
    found.work += work;
    pl_arena_free(tmp);
    return found;
}

/* Written out. */
static pl_minimum solve_short(const pl_chain *chain, pl_cost weights,
                              const pl_search_options *options, pl_arena *out)
{
    pl_arena *tmp = pl_arena_new("chain");
    pl_search_options o = *options;
    const pl_sum s = pl_chain_unroll(chain, tmp);
    start_tied(chain, weights, &o, tmp);
    const pl_minimum found = pl_solve_sum(&s, weights, &o, out);
    pl_arena_free(tmp);
    return found;
}

/* Without a cap: folded, when variables with few neighbours have gone. */
static pl_minimum solve_open(const pl_chain *chain, pl_cost weights,
                             const pl_search_options *options, pl_arena *out)
{
    if (is_short(chain, options)) return solve_short(chain, weights, options, out);
    if (options->no_reduction) return solve_chain(chain, weights, options, out);
    pl_arena *tmp = pl_arena_new("reduced chain");
    pl_search_options o = *options;
    const pl_reduced_chain *r = pl_chain_reduce(chain, weights, tmp);
    if (o.start) o.start = pl_reduced_chain_drop(r, o.start, tmp);
    pl_minimum found = solve_chain(&r->chain, (pl_cost){ 1, 0 }, &o, tmp);
    if (found.value) found.value = pl_reduced_chain_restore(r, found.value, out);
    found.work += r->outside->work + r->block->work;
    pl_arena_free(tmp);
    return found;
}

static pl_answer open_answer(const pl_chain *chain, pl_minimum found)
{
    const pl_cost cost = pl_chain_cost(chain, found.value);
    return pl_cap_answer(found.value, cost, found.bound, 0, found.work);
}

/* Without the cap, where that hardly binds. */
static bool min_roomy(const pl_chain *chain, double cap, const pl_search_options *options,
                      pl_arena *out, pl_answer *answer)
{
    if (!options->start || !pl_cap_is_roomy(cap, pl_chain_cost(chain, options->start).memory))
        return false;
    const pl_minimum found = solve_open(chain, (pl_cost){ 1, 0 }, options, out);
    if (!found.value) return false;
    *answer = open_answer(chain, found);
    return answer->memory <= cap;
}

/* Few copies are written out, of many the answers at prices are spliced. */
static bool min_capped(const pl_chain *chain, double cap, pl_search_options *options, pl_arena *out,
                       pl_answer *answer, pl_err *err)
{
    if (!is_short(chain, options) && chain->copies >= PL_MANY_COPIES) {
        const pl_chain_pair pair = { { chain, chain } };
        return pl_chain_pair_min(pair, cap, false, options, NULL, out, answer, NULL, err);
    }
    if (min_roomy(chain, cap, options, out, answer)) return true;
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
    *answer = open_answer(chain, found);
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

bool pl_chain_priced(const pl_chain *chain, double price, const pl_search_options *options,
                     pl_arena *out, pl_answer *answer, pl_err *err)
{
    const pl_cost weights = { 1, price };
    PL_TRY(pl_chain_check(chain, err));
    const pl_search_options o = pl_solve_defaults(options);
    return take_weighted(chain, weights, solve_open(chain, weights, &o, out), answer, err);
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
