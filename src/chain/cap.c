/* A capped chain (cap.h). Read solve() near the end: the least memory, a price from the tied
 * chain (look_tied), prices where the lines of two choices meet (find_price), then mixtures
 * (close_gap). */
#include "chain/cap.h"
#include "chain/mix.h"

#include <string.h>

/* Prices tried: first while none is high enough to fit, then between two that are known. */
enum { MOST_RAISES = 6, MOST_PRICES = 24, MOST_KNOWN = 8 };

/* Gaps that will do: of the answer at a price, as mixtures come later anyway; of the tied chain,
 * whose price alone counts; in the end, while prices are cheap, and once a better one would take
 * longer than it gains. */
static const double PRICE_GAP = 5e-4, TIED_GAP = 1e-3, ENOUGH[] = { 2e-4, 5e-3 };

/* How many times another price may be that of two choices for it to be near. */
static const double FAR = 16;

/* The part of the effort that goes to the tied chain; up to those parts prices are cheap, and a
 * price of 0 costs nothing. */
enum { TIED_PART = 2, CHEAP_PART = 3, FREE_PART = 32 };

typedef struct state {
    const pl_chain_solver *solver;
    const pl_search_options *options;
    double cap;
    pl_solution over, under; /* the last ones that do not fit, that fit                           */
    pl_solution best, least; /* the fastest that fits; the one that takes the least memory        */
    double bound, price;     /* the best dual bound and where it was found                        */
    int n_known;
    int *known[MOST_KNOWN];
    int64_t work;
    pl_arena *out;
} state;

static void know(state *s, int *value)
{
    if (s->n_known < MOST_KNOWN) {
        s->known[s->n_known++] = value;
        return;
    }
    for (int i = 1; i < MOST_KNOWN; i++) s->known[i - 1] = s->known[i];
    s->known[MOST_KNOWN - 1] = value;
}

/* As the end of the bracket on its side. */
static void take(state *s, pl_solution p)
{
    *(p.cost.memory > s->cap ? &s->over : &s->under) = p;
    if (p.cost.memory <= s->cap && p.cost.time < s->best.cost.time) s->best = p;
}

/* The cheapest at that price of the choices known; NULL: there is none. */
static const int *find_start(const state *s, double price)
{
    const int *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < s->n_known; i++) {
        pl_cost c = pl_chain_cost(s->solver->chain, s->known[i]);
        double cost = c.time + price * c.memory;
        if (cost < least) best = s->known[i], least = cost;
    }
    return best;
}

/* The choice that the caller knows. */
static void take_start(state *s)
{
    int n = (int)pl_chain_variables(s->solver->chain);
    if (!s->options->start) return;
    int *value = PL_NEW_N(s->out, int, n);
    memcpy(value, s->options->start, (size_t)n * sizeof *value);
    pl_solution p = { value, pl_chain_cost(s->solver->chain, value) };
    if (!pl_net_is_legal(p.cost.time)) return;
    know(s, value);
    take(s, p);
}

/* For one of many solutions. The gap is of the time: memory may cost much more. */
static pl_search_options rough(const state *s, double price)
{
    pl_search_options options = *s->options;
    double time = fabs(s->best.cost.time), all = time + price * fmax(s->cap, 0);
    options.gap = fmax(options.gap, PRICE_GAP * (all > 0 ? time / all : 1));
    options.start = find_start(s, price);
    return options;
}

/* Solves at a price; the answer takes the place of the end of the bracket on its side. */
static bool try_price(state *s, double price, pl_solution *found)
{
    pl_search_options options = rough(s, price);
    pl_minimum f = s->solver->solve(s->solver->self, (pl_cost){ 1, price }, &options, s->out);
    s->work += f.work;
    double bound = f.bound - price * s->cap;
    if (bound > s->bound) {
        s->bound = bound;
        s->price = price;
    }
    if (!f.value) return false;
    *found = (pl_solution){ f.value, pl_chain_cost(s->solver->chain, f.value) };
    know(s, f.value);
    take(s, *found);
    return true;
}

/* All prices together may take as long as one may: a price that has been begun is finished. */
static bool is_spent(const state *s)
{
    return s->work >= s->options->effort;
}

static double good_gap(const state *s)
{
    return fmax(s->options->gap, ENOUGH[s->work >= s->options->effort / CHEAP_PART]);
}

/* The least memory of any legal choice; it fits or nothing does. */
static bool find_least_memory(state *s, pl_err *err)
{
    pl_minimum found = s->solver->solve(s->solver->self, (pl_cost){ 0, 1 }, s->options, s->out);
    s->work += found.work;
    pl_cost cost =
        found.value ? pl_chain_cost(s->solver->chain, found.value) : (pl_cost){ 0, INFINITY };
    PL_TRY(s->best.value || pl_cap_fits(&found, cost.memory, s->cap, err));
    s->least = cost.memory <= s->cap ? (pl_solution){ found.value, cost } : s->best;
    if (s->least.cost.time < s->best.cost.time) s->best = s->least;
    return true;
}

/* Prices that rise until something fits; the first one makes memory cost about as much as time. */
static void find_under(state *s)
{
    pl_cost c = s->over.cost;
    double price = c.time > 0 ? 0.25 * c.time / c.memory : 1 / c.memory;
    pl_solution found;
    for (int i = 0; i < MOST_RAISES && !s->under.value && !is_spent(s); i++, price *= 8)
        if (!try_price(s, price, &found)) break;
    if (s->under.value) return;
    s->under = s->least;
    know(s, s->least.value);
}

/* Where the two lines meet the bound is largest, unless a choice lies below both. */
static void find_price(state *s)
{
    for (int i = 0; i < MOST_PRICES && !is_spent(s); i++) {
        pl_cost over = s->over.cost, under = s->under.cost;
        double price = (under.time - over.time) / (over.memory - under.memory);
        double line = over.time + price * (over.memory - s->cap);
        double goal = pl_solve_goal(s->best.cost.time, s->options);
        if (!(price > 0) || s->bound >= goal || line - s->bound <= good_gap(s) / 4 * fabs(line))
            return;
        pl_solution found;
        if (!try_price(s, price, &found)) return;
        double there = found.cost.time + price * (found.cost.memory - s->cap);
        if (there >= line - 1e-9 * fabs(line)) return;
    }
}

static void close_gap(state *s)
{
    bool sides = s->over.value && s->under.value;
    if (!sides || s->options->no_mixing || s->bound >= pl_solve_goal(s->best.cost.time, s->options))
        return;
    pl_mix mix = { .price = s->price,
                   .cap = s->cap,
                   .options = s->options,
                   .value = s->best.value,
                   .cost = s->best.cost,
                   .bound = s->bound };
    int *known[2 + MOST_KNOWN] = { s->over.value, s->under.value };
    for (int i = 0; i < s->n_known; i++) known[2 + i] = s->known[i];
    pl_mix_chain(s->solver->chain, s->solver->potentials(s->solver->self), 2 + s->n_known, known,
                 &mix, s->out);
    s->best = (pl_solution){ mix.value, mix.cost };
    s->bound = fmax(s->bound, mix.bound);
    s->work += mix.work;
}

/* A choice of the tied chain, as one of the chain. */
static pl_solution untie(const state *s, pl_solution tied)
{
    const pl_chain *chain = s->solver->chain;
    if (!tied.value) return tied;
    int *value = pl_chain_untie(chain, tied.value, s->out);
    return (pl_solution){ value, pl_chain_cost(chain, value) };
}

/* Where the lines of the two choices meet, if that is near the price: a bound that was good enough
 * may have come before it. */
static double meet(const state *s, double price)
{
    pl_cost over = s->over.cost, under = s->under.cost;
    double there = (under.time - over.time) / (over.memory - under.memory);
    bool both = s->over.value && s->under.value;
    return both && there > price / FAR && there < price * FAR ? there : price;
}

/* The two sides of the cap among choices with all copies alike, then the chain at their price. */
static void look_tied(state *s)
{
    pl_arena *tmp = pl_arena_new("tied look");
    pl_search_options options = *s->options;
    pl_sum tied = pl_chain_tie(s->solver->chain, tmp);
    pl_bracket bracket;
    pl_solution found;
    options.gap = fmax(options.gap, TIED_GAP);
    options.effort /= TIED_PART;
    options.start = NULL;
    bool fits = pl_cap_bracket(&tied, s->cap, &options, tmp, &bracket);
    s->work += bracket.work;
    if (fits) {
        const pl_solution side[3] = { untie(s, bracket.over), untie(s, bracket.under),
                                      untie(s, bracket.best) };
        for (int i = 0; i < 3; i++) {
            if (!side[i].value || !pl_net_is_legal(side[i].cost.time)) continue;
            know(s, side[i].value);
            take(s, side[i]);
        }
        if (bracket.price > 0) try_price(s, meet(s, bracket.price), &found);
    }
    pl_arena_free(tmp);
}

static bool is_near(const state *s)
{
    double gap = good_gap(s) * fabs(s->best.cost.time);
    return s->price > 0 && s->best.cost.time - s->bound <= gap;
}

/* With memory free, roughly; exactly, where that fits. Mixtures may take parts of it. */
static bool solve_free(state *s, pl_err *err)
{
    pl_search_options options = rough(s, 0);
    for (int i = 0; i < 2; i++) {
        pl_minimum found = s->solver->solve(s->solver->self, (pl_cost){ 1, 0 }, &options, s->out);
        s->work += found.work;
        PL_TRY(pl_cap_legal(&found, err));
        s->bound = fmax(s->bound, found.bound);
        pl_solution p = { found.value, pl_chain_cost(s->solver->chain, found.value) };
        know(s, p.value);
        if (!s->over.value || p.cost.memory <= s->cap) take(s, p);
        if (p.cost.memory > s->cap || found.bound >= pl_solve_goal(found.cost, s->options))
            return true;
        options = *s->options;
        options.start = p.value;
    }
    return true;
}

static bool solve(state *s, pl_err *err)
{
    PL_TRY(find_least_memory(s, err));
    look_tied(s);
    close_gap(s);
    if (is_near(s)) return true;
    if (!s->over.value || s->work < s->options->effort / FREE_PART) PL_TRY(solve_free(s, err));
    if (!s->over.value) return true; /* what is the fastest of all fits */
    if (!s->under.value) find_under(s);
    find_price(s);
    close_gap(s);
    return true;
}

bool pl_cap_chain(const pl_chain_solver *solver, double cap, const pl_search_options *options,
                  pl_arena *out, pl_answer *answer, pl_err *err)
{
    state s = { .solver = solver, .options = options, .cap = cap, .bound = -INFINITY, .out = out };
    s.best.cost = (pl_cost){ INFINITY, INFINITY };
    take_start(&s);
    PL_TRY(solve(&s, err));
    *answer = pl_cap_answer(s.best.value, s.best.cost, s.bound, s.price, s.work);
    return true;
}
