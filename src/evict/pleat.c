/* Our policy. Recompute alone: descend() from several starts, the best goes on. With a link: copies
 * first, chosen in some styles, then recompute for what is left, then the copies timed anew for the
 * longer time that runs take. Last the online rules, which are never better by more than luck, so that
 * none of them is. */
#include "evict/anneal.h"
#include "evict/bound.h"
#include "evict/emit.h"
#include "evict/policy.h"
#include "evict/swap.h"

#include <math.h>

enum { DEFAULT_EFFORT = 300000, CYCLES = 6 };

typedef struct search {
    const pl_policy_ask *ask;
    const pl_items *items;
    pl_arena *out;
    pl_evict_schedule best;
    pl_play *play;
    pl_retain *retain;
    pl_improve *improve;
    pl_bound bound;
    const pl_retain_saved *start;
    int64_t effort; /* moves in all */
} search;

static void take(search *s, const pl_evict_schedule *found)
{
    if (s->best.n == 0 || found->seconds < s->best.seconds) s->best = *found;
}

static void take_retained(search *s)
{
    pl_evict_schedule found;
    if (s->retain->n_over > 0) return;
    pl_emit_all(s->retain, s->play);
    if (s->best.n > 0 && s->play->now >= s->best.seconds) return;
    pl_play_end(s->play, s->out, &found);
    take(s, &found);
}

/* Warmth and growth of the first descents, whose best goes on with less of both. */
static const struct {
    double heat, growth;
} descents[] = { { 0.2, 0.2 }, { 1, 0.2 }, { 0.05, 0.2 }, { 0.1, 0.1 } };

static void descend(search *s, int64_t moves)
{
    pl_retain *r = s->retain;
    int64_t first = s->improve->effort;
    (void)pl_improve_fit(s->improve, 0);
    for (int c = 0; c < CYCLES && r->cost + r->over > 0; c++) {
        int d = c % (int)(sizeof descents / sizeof *descents);
        (void)pl_anneal_run(s->improve, moves / (CYCLES + 1), descents[d].heat, descents[d].growth);
    }
    int64_t left = moves - (s->improve->effort - first);
    if (r->n_over == 0 && left > 0) pl_improve_run(s->improve, left);
}

static void search_recompute(search *s, int64_t moves)
{
    pl_retain_load(s->retain, s->start);
    descend(s, moves);
    take_retained(s);
}

static void search_copies(search *s, pl_swap_style style, int64_t moves)
{
    pl_retain_load(s->retain, s->start);
    s->improve->effort += pl_swap_fill(s->retain, style);
    take_retained(s);
    if (s->ask->options->no_recompute || s->retain->n_over == 0) return;
    for (int round = 0; round < 2; round++) {
        descend(s, moves / 2);
        take_retained(s);
        pl_swap_time(s->retain, style.stretch);
        take_retained(s);
    }
}

static const double stretches[] = { 1,   1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6,
                                    1.8, 2,    2.3,  2.6, 3,    4,   6,   10,  30,  100 };

static void search_all(search *s)
{
    const pl_evict_options *o = s->ask->options;
    bool link = s->items->problem->out_bytes_per_s > 0 && !o->no_copies;
    int n = link && !o->no_recompute ? 12 : 1;
    if (!o->no_recompute) search_recompute(s, s->effort / (link ? 3 : 1));
    int n_stretch = (int)(sizeof stretches / sizeof *stretches);
    for (int k = 0; k < n_stretch && link; k++) {
        double floor = stretches[k] * s->ask->facts.seconds;
        if (s->best.n > 0 && floor >= s->best.seconds && k > 0) break;
        for (int dear = 0; dear < (o->no_recompute ? 1 : 3); dear++)
            search_copies(s, (pl_swap_style){ stretches[k], 0.5 * dear }, s->effort / n / 2);
    }
}

bool pl_policy_pleat(const pl_policy_ask *ask, pl_arena *out, pl_evict_schedule *schedule,
                     pl_err *err)
{
    static const char *const others[] = { "dtr", "msps", "stale" };
    pl_arena *tmp = pl_arena_new("evict pleat");
    const pl_evict_options *o = ask->options;
    search s = { .ask = ask, .items = ask->items, .out = out,
                 .effort = o->effort > 0 ? o->effort : DEFAULT_EFFORT };
    s.play = pl_play_new(ask->items, tmp);
    s.retain = pl_retain_new(ask->items, o->budget, tmp);
    s.start = pl_retain_save(s.retain, tmp);
    s.bound = pl_bound_find(ask->items, o->budget, !o->no_recompute, false, 500, tmp);
    s.improve = pl_improve_new(s.retain, s.bound.price, 1, tmp);
    take_retained(&s);
    if (s.best.n == 0) {
        search_all(&s);
        for (size_t k = 0; k < sizeof others / sizeof *others && !o->no_recompute; k++) {
            pl_policy_ask other = *ask;
            pl_evict_schedule found;
            pl_err miss = { 0 };
            other.policy = pl_policy_find(others[k]);
            if (ask->items->problem->most_runs == 0 &&
                other.policy->find(&other, out, &found, &miss))
                take(&s, &found);
        }
    }
    s.best.effort = s.improve->effort;
    *schedule = s.best;
    pl_arena_free(tmp);
    return schedule->n > 0 || pl_policy_refuse(ask, err);
}
