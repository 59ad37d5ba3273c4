/* Our policy. First the cheap ones of others, so that none of them is ever faster, and the exact
 * search where the problem is small. Recompute alone: descend(), greedily to what fits, then by
 * annealing. With a link: copies first, chosen in some styles, then recompute for what is left,
 * then the copies timed anew for the longer time that runs take. */
#include "evict/anneal.h"
#include "evict/bound.h"
#include "evict/emit.h"
#include "evict/exact.h"
#include "policies/policy.h"
#include "evict/swap.h"

#include <math.h>

enum { DEFAULT_EFFORT = 20000000, CYCLES = 6, STEPS_PER_STATE = 1000 };

typedef struct search {
    const pl_evict_policy_ask *ask;
    const pl_evict_items *items;
    pl_arena *out;
    pl_evict_schedule best;
    pl_evict_play *play;
    pl_evict_retain *retain;
    pl_evict_improve *improve;
    pl_evict_bound bound;
    const pl_evict_retain_saved *start;
    int64_t effort; /* steps in all */
} search;

static void take(search *s, const pl_evict_schedule *found)
{
    if (s->best.n == 0 || found->seconds < s->best.seconds) s->best = *found;
}

static void take_retained(search *s)
{
    pl_evict_schedule found;
    if (s->retain->n_over > 0) return;
    pl_evict_emit_all(s->retain, s->play);
    if (s->best.n > 0 && s->play->now >= s->best.seconds) return;
    pl_evict_play_end(s->play, s->out, &found);
    take(s, &found);
}

/* Each goes on from the best so far. */
static const struct {
    double heat, growth;
    int foresight;
} descents[] = { { 0.2, 0.2, 3 }, { 1, 0.2, 0 }, { 0.05, 0.2, 3 }, { 0.1, 0.1, 0 } };

/* Greedily, from what there is now; with little foresight where much does not do. */
static bool fit(search *s, double noise)
{
    pl_evict_retain *r = s->retain;
    pl_arena *tmp = pl_arena_new("evict fit");
    const pl_evict_retain_saved *from = pl_evict_retain_save(r, tmp);
    bool ok = false;
    for (int foresight = 3; foresight >= 0 && !ok; foresight -= 3) {
        r->foresight = foresight;
        pl_evict_retain_load(r, from);
        ok = pl_evict_improve_fit(s->improve, noise);
    }
    pl_arena_free(tmp);
    return ok;
}

static void descend(search *s, int64_t steps)
{
    pl_evict_retain *r = s->retain;
    int64_t first = r->steps;
    pl_arena *tmp = pl_arena_new("evict descend");
    const pl_evict_retain_saved *first_state = pl_evict_retain_save(r, tmp);
    bool fits = r->n_over == 0 || fit(s, 0);
    for (int c = 0; c < CYCLES && r->cost + r->over > 0; c++) {
        int d = c % (int)(sizeof descents / sizeof *descents);
        if (!fits && c > 0 && r->n_over > 0) {
            pl_evict_retain_load(r, first_state);
            (void)fit(s, 0.5 * c);
        }
        r->foresight = descents[d].foresight;
        (void)pl_evict_anneal_run(s->improve, steps / (CYCLES + 1), descents[d].heat,
                                  descents[d].growth);
    }
    int64_t left = steps - (r->steps - first);
    if (r->n_over == 0 && left > 0) pl_evict_improve_run(s->improve, left);
    pl_arena_free(tmp);
}

static void search_recompute(search *s, int64_t steps)
{
    pl_evict_retain_load(s->retain, s->start);
    descend(s, steps);
    take_retained(s);
}

static void search_copies(search *s, pl_evict_swap_style style, int64_t steps)
{
    pl_evict_retain_load(s->retain, s->start);
    pl_evict_swap_fill(s->retain, style);
    take_retained(s);
    if (steps == 0 || s->retain->n_over == 0) return;
    for (int round = 0; round < 2; round++) {
        descend(s, steps / 2);
        take_retained(s);
        pl_evict_swap_time(s->retain, style.stretch);
        take_retained(s);
    }
}

static const double stretches[] = { 1,   1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6,
                                    1.8, 2,    2.3,  2.6, 3,    4,   6,   10,  30,  100 };

enum { N_STRETCHES = sizeof stretches / sizeof *stretches };

/* Copies alone: the least stretch that fits, by halving. */
static void search_stretch(search *s)
{
    int low = 0, high = N_STRETCHES - 1;
    while (low <= high) {
        int mid = low == 0 && high == N_STRETCHES - 1 ? 0 : (low + high) / 2;
        search_copies(s, (pl_evict_swap_style){ stretches[mid], 0 }, 0);
        if (s->retain->n_over == 0)
            high = mid - 1;
        else
            low = mid + 1;
    }
}

/* Both: what is left to recompute after copies in three styles, at stretches below what is best so
 * far. */
static void search_both(search *s)
{
    const int given = s->ask->options->stretches;
    for (int k = 0; k < (given > 0 && given < N_STRETCHES ? given : N_STRETCHES); k++) {
        bool late = stretches[k] * s->ask->facts.seconds >= s->best.seconds ||
                    s->retain->steps > 3 * s->effort;
        if (k > 0 && s->best.n > 0 && late) break;
        for (int dear = 0; dear < 3; dear++)
            search_copies(s, (pl_evict_swap_style){ stretches[k], 0.5 * dear }, s->effort / 24);
    }
}

static void search_all(search *s)
{
    const pl_evict_options *o = s->ask->options;
    bool link = s->items->problem->out_bytes_per_s > 0 && !o->no_copies;
    if (!o->no_recompute) search_recompute(s, s->effort);
    if (link) search_stretch(s);
    if (link && !o->no_recompute) search_both(s);
}

/* The rules that do not see ahead, and without a link the exact search where the problem is small.
 */
static void ask_others(search *s)
{
    static const char *const others[] = {
        "dtr", "dtr-eq", "msps", "lru", "stale", "delta", "chain"
    };
    const pl_evict_options *o = s->ask->options;
    bool link = s->items->problem->out_bytes_per_s > 0;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        pl_evict_policy_ask other = *s->ask;
        pl_evict_schedule found;
        pl_err miss = { 0 };
        PL_ASSERT(pl_evict_policy_find(others[k], &other.policy, &miss));
        if (s->items->problem->most_runs > 0 || o->no_recompute ||
            (o->no_copies && other.policy->find == pl_evict_policy_delta))
            continue;
        other.tmp = pl_arena_new("evict other");
        if (other.policy->find(&other, s->out, &found, &miss)) take(s, &found);
        pl_arena_free(other.tmp);
    }
    if (o->no_recompute || (link && !o->no_copies)) return;
    int64_t states = s->effort / STEPS_PER_STATE / (s->items->problem->most_runs > 0 ? 10 : 1);
    if (pl_evict_exact_find(s->items, o->budget, states, s->play) != PL_EXACT_FOUND) return;
    pl_evict_schedule found;
    pl_evict_play_end(s->play, s->out, &found);
    take(s, &found);
    s->best.bound = s->best.seconds;
    s->best.optimal = true;
}

bool pl_evict_policy_pleat(const pl_evict_policy_ask *ask, pl_arena *out,
                           pl_evict_schedule *schedule, pl_err *err)
{
    const pl_evict_options *o = ask->options;
    pl_arena *tmp = ask->tmp;
    search s = { .ask = ask,
                 .items = ask->items,
                 .out = out,
                 .effort = o->effort > 0 ? o->effort : DEFAULT_EFFORT };
    s.play = pl_evict_play_new(ask->items, tmp);
    s.retain = pl_evict_retain_new(ask->items, o->budget, tmp);
    s.start = pl_evict_retain_save(s.retain, tmp);
    s.bound = pl_evict_bound_find(ask->items, o->budget, !o->no_recompute, false, 500, tmp);
    s.improve = pl_evict_improve_new(s.retain, s.bound.price, 1, tmp);
    take_retained(&s);
    if (s.best.n == 0) {
        ask_others(&s);
        if (!s.best.optimal) search_all(&s);
    }
    s.best.effort = s.retain->steps;
    *schedule = s.best;
    return schedule->n > 0 || pl_evict_policy_refuse(ask, err);
}
