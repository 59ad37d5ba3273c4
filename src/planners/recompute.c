/* Blocks recomputed where memory binds: a search with all of them (pl_recompute_search), then no
 * more of them than are needed (pl_candidates_spare). */
#include "planners/candidates.h"

#include "plan/recompute.h"

#include <math.h>
#include <string.h>

enum { MOST_SPARED = 6 };

/* Pipelines with fewer blocks recomputed may be so much faster than that. */
static const double ABOUT = 1.03;

bool pl_candidates_tight(const choosing *x)
{
    const pl_auto *f = x->b->search;
    bool fits = false;
    for (int i = 0; i < x->b->n; i++) fits |= x->b->at[i].fits && x->b->at[i].searched;
    if (f->best < 0 || f->cap < x->stages * x->b->limit || !fits) return true;
    return f->mesh[f->best].answer.price > 0;
}

/* What the search without recomputing found, as one that recomputes nothing. */
static pl_chain_opened *keep_all(const pl_auto_mesh *m, const pl_problem *problem, pl_arena *out)
{
    int none[2];
    for (int k = 0; k < 2; k++) none[k] = problem->says[k] < 0 ? -1 : problem->n_again - 1;
    return m->opened ? pl_chain_opened_more(m->opened, &m->problem->chain, none, out) : NULL;
}

pl_auto *pl_recompute_search(const choosing *x, bool always)
{
    pl_auto *f = PL_NEW(x->out, pl_auto);
    *f = *x->plain;
    f->mesh = PL_NEW_N(x->out, pl_auto_mesh, f->n);
    f->best = -1;
    f->bound = INFINITY;
    for (int i = 0; i < f->n; i++) {
        const pl_auto_mesh *m = &x->plain->mesh[i];
        f->mesh[i].mesh = m->mesh;
        f->mesh[i].problem = pl_problem_recompute(m->problem, always, x->out);
        if (!always) f->mesh[i].opened = keep_all(m, f->mesh[i].problem, x->out);
    }
    return f;
}

bool pl_recompute_is_all(const pl_candidate *k)
{
    return strstr(k->name, PL_RECOMPUTE_ALL);
}

bool pl_recompute_is_none(const pl_auto *search)
{
    for (int i = 0; i < search->n; i++) {
        const pl_auto_mesh *m = &search->mesh[i];
        const int none = m->problem->n_again - 1;
        for (int copy = -1; m->fits && copy < m->problem->copies; copy++)
            if (pl_problem_again(m->problem, m->answer.value, copy) < none) return false;
    }
    return true;
}

bool pl_recompute_is_named(const pl_candidate *k)
{
    return strstr(k->name, "recompute=");
}

const char *pl_recompute_name(const choosing *x, const char *mesh, const pl_problem *problem,
                              const int *value)
{
    const int none = problem->n_again - 1, folded = problem->copies;
    const int outside = pl_problem_again(problem, value, -1);
    int all = outside == 0 && none ? pl_fold_copies(x->fold) - folded : 0, large = 0;
    for (int i = 0; i < folded; i++) {
        const int what = pl_problem_again(problem, value, i);
        all += what == 0;
        large += what > 0 && what < none;
    }
    if (all >= folded && !large && (outside == 0 || problem->says[0] < 0))
        return pl_arena_fmt(x->out, "%s, " PL_RECOMPUTE_ALL, mesh);
    if (large) mesh = pl_arena_fmt(x->out, "%s, recompute=selective", mesh);
    return all ? pl_arena_fmt(x->out, "%s, recompute=%d", mesh, all) : mesh;
}

/* With fewer blocks recomputed more of the activations that it has there are copied. */
static bool hosts_activations(const pl_plan *p)
{
    bool any = false;
    for (int i = 0; i < p->graph->values.n; i++) any |= p->kept[i] && p->kept[i]->host;
    return any;
}

/* A layout's text, without recomputing all blocks; NULL: it recomputes none. */
static const char *text_without(const char *text, pl_arena *out)
{
    static const char all[] = "," PL_RECOMPUTE_ALL;
    const char *at = text ? strstr(text, all) : NULL;
    const char *rest = at ? at + strlen(all) : NULL; /* ",offload=optimizer" */
    return at ? pl_arena_fmt(out, "%.*s%s", (int)(at - text), text, rest) : NULL;
}

const pl_candidate *pl_recompute_base(const pl_found *b, const char *text, pl_arena *tmp)
{
    return pl_candidates_named(b, text_without(text, tmp));
}

double pl_recompute_outline(double limit, const pl_sample two[2])
{
    const double over = two[0].bytes - limit, less = two[0].bytes - two[1].bytes;
    return two[0].seconds + (over > 0 ? over / less * (two[1].seconds - two[0].seconds) : 0);
}

double pl_recompute_between(const choosing *x, const pl_candidate *none, const pl_candidate *all)
{
    const pl_forecast *f = &none->forecast, *g = &all->forecast;
    const pl_sample two[] = {
        { .seconds = f->step_seconds, .bytes = (double)f->memory.peak },
        { .seconds = g->step_seconds, .bytes = (double)g->memory.peak },
    };
    return pl_recompute_outline(pl_candidate_limit(x->b, none), two);
}

/* The same of a pipeline, with whatever was found that recomputes nothing; places that hold fewer
 * micro-batches recompute less, so that it takes about half of what it adds for all alike. */
static double between_any(const choosing *x, const pl_candidate *all)
{
    double least = INFINITY;
    for (int i = 0; i < x->b->n; i++) {
        const pl_candidate *k = &x->b->at[i];
        if (!k->fits && k->forecast.again_seconds <= 0 &&
            k->forecast.memory.peak > all->forecast.memory.peak)
            least = fmin(least, (k->forecast.step_seconds + pl_recompute_between(x, k, all)) / 2);
    }
    return least;
}

double pl_recompute_spared(const choosing *x, const pl_candidate *all)
{
    if (x->stages > 1) return between_any(x, all);
    const pl_candidate *none = all->searched ? NULL : pl_recompute_base(x->b, all->name, x->out);
    return none ? pl_recompute_between(x, none, all) : INFINITY;
}

/* Of those that fit, recompute all blocks and keep all else on the device, layouts or searched
 * ones, the fastest without what it need not recompute. NULL: none fits. */
static const pl_candidate *find_all(const choosing *x, bool searched)
{
    const pl_candidate *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < x->b->n; i++) {
        const pl_candidate *k = &x->b->at[i];
        if (!k->fits || k->searched != searched || !pl_recompute_is_all(k) ||
            hosts_activations(k->plan))
            continue;
        const double at = fmin(pl_recompute_spared(x, k), k->forecast.step_seconds);
        if (at < least) least = at, best = k;
    }
    return best;
}

bool pl_recompute_is_worth(const choosing *x, const pl_candidate *all)
{
    const double seconds = pl_recompute_spared(x, all);
    return isinf(seconds) || seconds < (x->stages > 1 ? ABOUT : 1) * pl_candidates_goal(x);
}

/* What a strategy says of that. */
static const char *name_less(const choosing *x, const pl_candidate *all, int blocks, bool large)
{
    const int n = (int)(strstr(all->name, PL_RECOMPUTE_ALL) - all->name);
    const char *rest = all->name + n + strlen(PL_RECOMPUTE_ALL); /* ",offload=optimizer" */
    const char *some = blocks ? pl_arena_fmt(x->out, "recompute=%d", blocks) : "";
    return pl_arena_fmt(x->out, "%.*s%s%s%s%s", n, all->name, large ? "recompute=selective" : "",
                        large && blocks ? "," : "", some, rest);
}

/* The plan of one that recomputes all blocks, without that: of a layout as that is made, as it may
 * keep otherwise what is not made again. */
static bool plan_without(const choosing *x, const pl_candidate *all, pl_plan **p, pl_err *err)
{
    const char *text = all->searched ? NULL : text_without(all->name, x->out);
    if (text) return pl_candidates_plan(x, text, x->g, p, err);
    *p = PL_NEW(x->out, pl_plan);
    **p = *all->plan;
    (*p)->recompute = PL_NEW_N(x->out, bool, x->g->values.n + 1);
    return true;
}

/* The plan of a candidate with only the first so many blocks recomputed, and of the others what is
 * large, if anything is: that frees most for its time. */
static bool add_less(choosing *x, const pl_candidate *all, const pl_plan *none, int blocks,
                     pl_err *err)
{
    const pl_graph *g = x->g;
    pl_plan *p = PL_NEW(x->out, pl_plan);
    *p = *none;
    p->recompute = PL_NEW_N(x->out, bool, g->values.n + 1);
    p->kept = PL_NEW_N(x->out, const pl_placement *, g->values.n + 1);
    memcpy(p->recompute, none->recompute, (size_t)g->values.n * sizeof *p->recompute);
    memcpy(p->kept, none->kept, (size_t)g->values.n * sizeof *p->kept);
    (void)pl_plan_recompute(p, pl_recompute_blocks(g, x->fold, blocks, x->out));
    const bool large = pl_plan_recompute(p, pl_recompute_large(g, x->out));
    const char *name = name_less(x, all, blocks, large);
    if (!all->searched) p->strategy = name;
    return pl_candidates_add(x, name, p, all->bound, err);
}

static bool has_large(const choosing *x)
{
    const bool *set = pl_recompute_large(x->g, x->out);
    bool any = false;
    for (int i = 0; i < x->g->values.n; i++) any |= set[i];
    return any;
}

/* The last candidate, once more, with a longer search for its order, unless it is in stages, which
 * have it. */
static bool lengthen_last(choosing *x, pl_err *err)
{
    const pl_candidate brief = x->b->at[x->b->n - 1];
    if (brief.stages) return true;
    PL_TRY(pl_candidates_add(x, brief.name, brief.plan, brief.bound, err));
    const pl_candidate longer = x->b->at[--x->b->n];
    if (longer.fits) x->b->at[x->b->n - 1] = longer;
    return true;
}

/* Of the blocks of a candidate that recomputes all, no more than are needed for it to fit: one more
 * candidate, or none. */
static bool make_spared(choosing *x, const trial *t, pl_err *err)
{
    pl_candidate all = *t->all;
    int low = has_large(x) ? -1 : 0, high = pl_fold_copies(x->fold), last = x->b->n, guesses = 0;
    pl_plan *none;
    PL_TRY(pl_candidate_whole(x, &all, err) && plan_without(x, &all, &none, err));
    x->brief = true;
    double over = t->none && !low ? pl_candidate_excess(x, t->none) : 0,
           room = -pl_candidate_excess(x, &all);
    for (int i = 0; i < MOST_SPARED && high - low > 1 && !pl_candidates_late(x); i++) {
        /* memory is about linear in the blocks, as long as it is fullest at the same moment: more
         * than fits with `low`, room left with `high` */
        const bool halve = over > 0 && ++guesses % 3 == 0;
        const double part = halve ? 0.5 : over > 0 ? over / (over + room) : 0;
        int blocks = low + (int)ceil(part * (high - low));
        if (blocks <= low) blocks = low + 1;
        if (blocks >= high) blocks = high - 1;
        PL_TRY(add_less(x, &all, none, blocks, err));
        const pl_candidate less = x->b->at[--x->b->n];
        *(less.fits ? &high : &low) = blocks;
        *(less.fits ? &room : &over) = fabs(pl_candidate_excess(x, &less));
        if (!less.fits && less.forecast.step_seconds >= t->most) break; /* more take longer */
        if (!less.fits) continue;
        x->b->at[last] = less; /* fewer than before */
        x->b->n = last + 1;
    }
    return true;
}

/* On one device, say, what is searched is a layout. */
static bool is_same(const pl_candidate *a, const pl_candidate *b)
{
    return a && b && a->forecast.step_seconds == b->forecast.step_seconds &&
           a->forecast.memory.peak == b->forecast.memory.peak;
}

/* The layout and the searched plan at once. */
bool pl_candidates_spare(choosing *x, pl_err *err)
{
    const double most = pl_candidates_goal(x) * PL_RECOMPUTE_MOST;
    const pl_candidate *layout = find_all(x, false), *found = find_all(x, true);
    const pl_candidate *const two[] = { layout, is_same(layout, found) ? NULL : found };
    trial t[2] = { 0 };
    int n = 0;
    if (pl_candidates_late(x)) return true;
    for (int i = 0; i < 2; i++)
        if (two[i] && two[i]->forecast.step_seconds <= most && pl_recompute_is_worth(x, two[i]))
            t[n++] = (trial){ .make = make_spared,
                              .all = two[i],
                              .most = pl_candidates_goal(x),
                              .none = i ? NULL : pl_recompute_base(x->b, two[i]->name, x->out) };
    pl_candidates_try(x, NULL, n, t, NULL);
    for (int i = 0; i < n; i++) {
        if (t[i].why.code && !err->code) *err = t[i].why;
        x->b->stopped |= t[i].made.stopped;
        const double goal = pl_candidates_goal(x);
        if (t[i].made.n)
            pl_candidates_take(x, &t[i], &x->b->at[x->b->n++]);
        else
            pl_arena_free(t[i].x.out);
        if (!t[i].made.n || err->code || pl_candidates_late(x)) continue;
        x->few_from = t[i].x.few_from;
        if (x->b->at[x->b->n - 1].forecast.step_seconds <= goal) (void)!lengthen_last(x, err);
    }
    x->few_from = 0;
    return !err->code;
}
