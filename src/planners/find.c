/* The one entry. Read pl_plan_find() at the end; find_auto() is its road for auto: search every
 * mesh, lower and forecast what is found (searches.h), and the published layouts beside it
 * (take_road); take the fastest that fits. */
#include "planners/offers.h"
#include "planners/searches.h"

#include "base/clock.h"
#include "base/each.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BEAT_GAP = 0.01;

/* How rough an early search may be; what a layout takes is so many times less than its bound, which
 * is that of tables: plans were seen to take up to a third less than these say. */
static const double ROUGH_GAP = 0.05, FAR_FASTER = 1.5;

/* Of the limit; of the work block, where the plan is only told of. */
static const double NEARLY_FULL = 0.9, LAYOUTS_DIFFER = 0.01;

/* Times the seconds of one that may not fit. */
static const double NEARLY_AS_FAST = 1.005;

/* The devices that a plan is for. */
static bool find_cluster(const pl_plan_request *r, const pl_strategy *s, pl_arena *out,
                         const pl_cluster **c, pl_err *err)
{
    pl_cluster *local;
    *c = r->cluster ? r->cluster : s->cluster;
    if (*c) return true;
    const char *name = pl_arena_fmt(out, "local:%d", s->devices);
    PL_TRY(pl_cluster_find(name, out, &local, err));
    *c = local;
    return true;
}

/* -- what fits --------------------------------------------------------------------------------- */

static const pl_auto_options *auto_options(const choosing *x)
{
    pl_auto_options *o = PL_NEW(x->out, pl_auto_options);
    *o = x->r->search;
    o->memory = x->b->limit;
    o->stages = x->stages;
    return o;
}

/* The plan of a mesh that takes the least memory. False: there is none, or it is too large. */
static bool add_least(choosing *x, const pl_auto *f, int mesh)
{
    pl_err why = { 0 };
    const char *name = pl_candidates_mesh_name(x, &f->mesh[mesh].mesh);
    pl_plan *p = pl_auto_least(f, mesh, x->out);
    return p && pl_candidates_cut(x, p, &why) && pl_candidates_add(x, name, p, 0, &why) &&
           x->b->at[x->b->n - 1].fits;
}

bool pl_plan_can_fit(const pl_plan_request *r, const pl_graph *g, double *over)
{
    pl_arena *tmp = pl_arena_new("fits");
    pl_found b = { 0 };
    pl_err why = { 0 };
    choosing x = pl_candidates_open(&b, g, r->cluster, r, tmp);
    bool fits = false;
    if (pl_auto_open(g, x.c, auto_options(&x), tmp, &b.search, &why)) {
        b.at = PL_NEW_N(tmp, pl_candidate, b.search->n + PL_MOST_OFFERS);
        x.fold = &b.search->fold;
        pl_candidates_shorten(&x, x.fold);
        for (int i = 0; i < b.search->n && !fits; i++) fits = add_least(&x, b.search, i);
        if (!fits) pl_offers_add_small(&x);
        fits = pl_candidates_fastest(&b) < INFINITY;
    }
    *over = INFINITY;
    for (int i = 0; i < b.n; i++)
        *over = fmin(*over, (double)b.at[i].forecast.memory.peak - b.limit);
    pl_candidates_close(&x);
    pl_arena_free(tmp);
    return fits;
}

/* Some fit the device, and what they keep in the host's memory does not fit that. */
static bool host_is_full(const choosing *x, const pl_candidate *least, pl_err *err)
{
    const pl_forecast_memory *m = &least->forecast.memory;
    pl_arena *tmp = pl_arena_new("message");
    pl_err_set(err, PL_EINFEASIBLE,
               "nothing fits: %s takes %s of a device's %s, but %s of the host's memory, of which "
               "a device has %s (the cluster's host_memory)",
               least->name, pl_text_size(tmp, (double)m->peak),
               pl_text_size(tmp, pl_candidate_limit(x->b, least)),
               pl_text_size(tmp, (double)m->host), pl_text_size(tmp, x->b->host_limit));
    pl_arena_free(tmp);
    return false;
}

/* The one that takes least of the host's memory of those that fit the device; NULL: none does. */
static const pl_candidate *find_least_hosted(const choosing *x)
{
    const pl_candidate *least = NULL;
    for (int i = 0; i < x->b->n; i++) {
        const pl_candidate *k = &x->b->at[i];
        const bool fits = (double)k->forecast.memory.peak <= pl_candidate_limit(x->b, k);
        if (fits && (!least || k->forecast.memory.host < least->forecast.memory.host)) least = k;
    }
    return least;
}

static bool nothing_fits(const choosing *x, pl_err *err)
{
    const pl_candidate *hosted = find_least_hosted(x);
    if (hosted) return host_is_full(x, hosted, err);
    const pl_candidate *least = &x->b->at[0];
    for (int i = 1; i < x->b->n; i++)
        if (x->b->at[i].forecast.memory.peak < least->forecast.memory.peak) least = &x->b->at[i];
    const pl_forecast_memory *m = &least->forecast.memory;
    pl_arena *tmp = pl_arena_new("message");
    pl_err_set(
        err, PL_EINFEASIBLE,
        "nothing fits in %s of a device: the least that was found, %s, takes %s (weights %s, "
        "optimizer %s, gradients %s, activations %s, transient %s)",
        pl_text_size(tmp, x->b->limit), least->name, pl_text_size(tmp, (double)m->peak),
        pl_text_size(tmp, (double)m->weights), pl_text_size(tmp, (double)m->optimizer),
        pl_text_size(tmp, (double)m->gradients), pl_text_size(tmp, (double)m->activations),
        pl_text_size(tmp, (double)m->transient));
    pl_arena_free(tmp);
    return false;
}

/* -- taking ------------------------------------------------------------------------------------ */

/* The layout of many blocks may take so much more, or less, than that of few says. Nearly always
 * it takes as much, to the byte; 3 percent more of the work block was seen in one plan of a
 * hundred. */
static double layouts_differ(const pl_candidate *k)
{
    const pl_forecast_memory *m = &k->forecast.memory;
    return LAYOUTS_DIFFER * (double)(m->peak - m->weights - m->optimizer - m->sums);
}

static bool is_nearly_full(const choosing *x, const pl_candidate *k)
{
    const double peak = (double)k->forecast.memory.peak, limit = pl_candidate_limit(x->b, k);
    return x->r->told ? fabs(limit - peak) <= layouts_differ(k)
                      : peak > NEARLY_FULL * limit && NEARLY_FULL * peak < limit;
}

/* Of what is nearly full, the layout of the whole program decides whether it fits. */
static bool needs_whole(const choosing *x, const pl_candidate *k)
{
    const bool brief = k->brief && !k->forecast.comm_bytes;
    return brief || (x->stages > 1 && pl_candidate_seeks_schedule(x, k)) ||
           (k->forecast.times && (x->r->whole || is_nearly_full(x, k)));
}

/* Is the whole of one that needs it only to show that it fits? Few blocks say all else. */
static bool needs_room_alone(const choosing *x, const pl_candidate *k)
{
    return x->r->told && !x->r->whole && k->fits && !k->brief && x->stages == 1;
}

/* Does the whole program fit? Its layout ends as soon as it does. */
static bool has_room(const choosing *x, const pl_candidate *k)
{
    pl_arena *tmp = pl_arena_new("whole program");
    pl_lower_options o = x->lower;
    pl_program *p;
    pl_err why = { 0 };
    o.work_limit = (int64_t)fmin(pl_candidate_limit(x->b, k), 1e18) - k->store->bytes;
    o.slack = 1;
    const bool fits = o.work_limit > 0 && pl_program_lower(k->plan, 0, k->store, &o, tmp, &p, &why);
    pl_arena_free(tmp);
    return fits;
}

/* Of what beats nothing only the seconds are told. */
static bool is_no_use(const choosing *x, const pl_candidate *k)
{
    return x->r->beat > 0 && k->forecast.step_seconds >= x->r->beat;
}

/* The fastest of those that surely fit, if it is nearly as fast as the best, of which only the
 * whole program tells: then the others, which are as near the limit, are left. */
static bool take_roomy(choosing *x)
{
    pl_found *b = x->b;
    pl_candidate *roomy = NULL;
    for (int i = 0; i < b->n; i++) {
        pl_candidate *k = &b->at[i];
        if (k->fits && !needs_whole(x, k) && (!roomy || pl_candidate_order(k, roomy) < 0))
            roomy = k;
    }
    const double enough = NEARLY_AS_FAST * b->take->forecast.step_seconds;
    if (!roomy || roomy->forecast.step_seconds > enough) return false;
    for (int i = 0; i < b->n; i++)
        if (pl_candidate_order(&b->at[i], roomy) < 0) b->at[i].fits = false;
    return true;
}

/* Does the best, which few of its blocks forecast, fit as a whole? */
static bool fits_whole(choosing *x, pl_err *err)
{
    pl_candidate *k = x->b->take;
    if (needs_room_alone(x, k))
        k->fits = has_room(x, k);
    else
        PL_TRY(pl_candidate_forecast(x, k, err));
    return true;
}

/* The fastest; when it needs a little more, made whole, than was forecast from few blocks, and does
 * not fit, the next one, as long as there is one that does. The first that is so near the limit may
 * be the only one there: then one that takes a little less is searched, too. */
static bool take_best(choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    bool alone = true;
    for (bool fitted = true; fitted;) {
        qsort(b->at, (size_t)b->n, sizeof *b->at, pl_candidate_order);
        b->take = b->at;
        fitted = b->take->fits;
        if (is_no_use(x, b->take)) {
            b->rough = needs_whole(x, b->take);
            return true;
        }
        const bool whole = needs_whole(x, b->take);
        if (alone && whole && fitted && b->take->forecast.times && b->take->problem) {
            alone = false;
            PL_TRY(pl_searches_less(x, b->take, 2 * layouts_differ(b->take), err));
            if (x->r->told && take_roomy(x)) continue;
        }
        PL_TRY(pl_candidate_whole(x, b->take, err));
        if (!whole) break;
        PL_TRY(fits_whole(x, err));
        if (b->take->fits) break;
    }
    return pl_candidate_settle(x, b->take, err);
}

/* The search and the usual layouts, which do not wait for it. */
typedef struct roads {
    choosing *x, beside; /* that of the layouts, with what was found before */
    pl_found found;
    pl_offers *l;
    bool searched;
    pl_err why;
} roads;

static void take_road(void *with, int i)
{
    roads *r = with;
    if (i)
        pl_offers_try(&r->beside, NULL, r->l, NULL);
    else
        r->searched = pl_searches_run(r->x, &r->why) || r->why.code == PL_EINFEASIBLE;
}

/* What waits for the search. */
static bool add_rest(choosing *x, pl_offers *l, bool searched, pl_err *err)
{
    if (searched) x->tight = pl_candidates_tight(x);
    x->b->tight = x->tight;
    const bool ok = !searched || pl_searches_recompute(x, err);
    pl_offers_add(x, l);
    return ok && (!x->tight || (pl_candidates_spare(x, err) && pl_candidates_evict(x, err)));
}

/* Of the mesh with the least. States may lie on the host, as far as it has room, and be cast anew
 * for each pass. So may what is kept for the backward pass, but a number of micro-batches that
 * needs that is passed over. */
static double find_floor(const choosing *x)
{
    const pl_auto *f = x->b->search;
    const double host = x->b->host_limit;
    double least = INFINITY;
    if (pl_fold_copies(&f->fold)) f = pl_recompute_search(x, false);
    for (int i = 0; i < f->n; i++) {
        const pl_floor b = pl_problem_floor(f->mesh[i].problem);
        const double here = b.states + b.casts + b.saved, hosted = b.states + b.saved - host;
        least = fmin(least, host > 0 ? fmax(b.saved, hosted) : here);
    }
    return least;
}

static bool check_least(const choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    if (!x->r->hasty || x->r->evict) return true;
    b->least = find_floor(x);
    return b->least <= b->limit ||
           pl_err_set(err, PL_EINFEASIBLE, "by the tables of the search no plan takes less than %s",
                      pl_text_size(x->out, b->least));
}

/* Is what the fastest takes, however much memory, below what there is to beat? */
static bool check_beat(const choosing *x, pl_err *err)
{
    const double beat = x->r->beat;
    pl_auto any;
    if (!(beat > 0)) return true;
    PL_TRY(pl_candidates_any_memory(x, BEAT_GAP, beat * x->shares, &any, err));
    x->b->beaten = any.bound / x->shares >= beat && pl_candidates_fastest(x->b) >= beat;
    return !x->b->beaten || pl_err_set(err, PL_EINFEASIBLE, "no plan takes less than %.4g s a step",
                                       any.bound / x->shares);
}

/* On many nodes layouts of groups within groups may be far faster than anything on the meshes of
 * the search: then it goes no further than a rough bound of plans of any memory. */
static bool is_outdone(choosing *x, pl_offers *l)
{
    pl_auto any;
    pl_err why = { 0 };
    if (!pl_offers_climb(x, l, FAR_FASTER)) return false;
    const bool found = pl_candidates_any_memory(x, ROUGH_GAP, 0, &any, &why);
    if (!found || any.bound / x->shares < FAR_FASTER * pl_candidates_fastest(x->b)) return false;
    *x->b->search = any;
    return true;
}

/* The bound of a search below a cap is of plans that keep all on the device or recompute blocks: of
 * others only that of any memory is. */
static bool loosen_bound(choosing *x, pl_err *err)
{
    const pl_candidate *k = x->b->take;
    const pl_forecast *f = &k->forecast;
    pl_auto any;
    const bool other = f->again_seconds > 0 && !(x->bounded && pl_recompute_is_named(k));
    if ((!f->memory.host && !other) || x->plain->cap == INFINITY) return true;
    PL_TRY(pl_candidates_any_memory(x, 0, 0, &any, err));
    x->b->search->bound = fmin(x->b->search->bound, any.bound);
    return true;
}

/* The layouts of a pipeline that were found with another schedule. False: none of them fits. */
static bool take_known_layouts(choosing *x)
{
    pl_found *b = x->b;
    const pl_found *as = x->r->as;
    if (!as || x->stages == 1 || !as->search || !as->take->value) return false;
    if (pl_searches_as(x)) return true;
    x->known = b->at, x->n_known = b->n;
    b->search = NULL, b->n = 0;
    return false;
}

static bool find_auto(choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    if (take_known_layouts(x)) return take_best(x, err) && (b->take->fits || nothing_fits(x, err));
    const bool published = x->r->search.method;
    roads r = { .x = x };
    PL_TRY(pl_auto_open(x->g, x->c, auto_options(x), x->out, &b->search, err));
    x->plain = b->plain = b->search;
    PL_TRY(check_least(x, err));
    b->at = PL_NEW_N(x->out, pl_candidate,
                     PL_SEARCHES_ROOM * b->search->n + PL_MOST_OFFERS + 1 + PL_EVICT_ROOM);
    b->refused = PL_NEW_N(x->out, pl_refused, PL_MOST_OFFERS);
    x->fold = &b->search->fold;
    if (x->stages == 1) pl_candidates_shorten(x, x->fold);
    r.l = pl_offers_usual(x);
    const bool groups = pl_offers_have_groups(r.l); /* of which the bound of meshes says nothing */
    PL_TRY((groups || check_beat(x, err)) && pl_offers_check(x, r.l, err));
    b->outdone = groups && is_outdone(x, r.l);
    if (groups && !b->outdone) PL_TRY(check_beat(x, err));
    r.found = *b, r.beside = *x;
    r.beside.b = &r.found;
    r.searched = b->outdone;
    if (!b->outdone) pl_each(pl_offers_wait(r.l) ? 2 : 1, take_road, &r);
    if (!r.searched || b->beaten) pl_offers_take(x, r.l);
    if (b->beaten) {
        *err = r.why;
        return false;
    }
    if (r.searched && !published) PL_TRY(add_rest(x, r.l, !b->outdone, err));
    for (int i = 0; r.searched && i < b->search->n && pl_candidates_fastest(b) >= INFINITY; i++)
        (void)!add_least(x, b->search, i);
    if (!r.searched || !b->n) {
        *err = r.why;
        return false;
    }
    PL_TRY(take_best(x, err));
    if (!b->take->fits) return nothing_fits(x, err);
    PL_TRY(is_no_use(x, b->take) || loosen_bound(x, err));
    if (b->search->best < 0) PL_TRY(pl_auto_again(b->search, INFINITY, x->out, err));
    b->search->seconds /= x->shares; /* the longest stage takes no less than all in the mean */
    b->search->bound /= x->shares;
    return true;
}

static bool evict_more(choosing *x, const pl_found *before, pl_err *err)
{
    pl_found *b = x->b;
    b->at = PL_NEW_N(x->out, pl_candidate, b->n + PL_EVICT_ROOM);
    memcpy(b->at, before->at, (size_t)b->n * sizeof *b->at);
    x->plain = b->plain;
    x->tight = b->tight;
    pl_candidates_shorten(x, &b->plain->fold);
    PL_TRY(pl_candidates_evict(x, err) && take_best(x, err));
    if (!b->take->fits) return nothing_fits(x, err);
    /* what was there before keeps its bound */
    return pl_recompute_is_named(b->take) || loosen_bound(x, err);
}

/* -- the entry --------------------------------------------------------------------------------- */

static bool add_given(choosing *x, const pl_plan *plan, pl_err *err)
{
    pl_candidate *k = x->b->take = x->b->at = PL_NEW_N(x->out, pl_candidate, 1 + PL_EVICT_ROOM);
    if (!x->r->whole) {
        pl_fold *fold = PL_NEW(x->out, pl_fold);
        *fold = pl_fold_find(x->g, x->out);
        pl_candidates_shorten(x, fold);
    }
    PL_TRY(pl_candidates_add(x, plan->strategy, plan, 0, err) && pl_candidate_whole(x, k, err));
    return !needs_whole(x, k) || pl_candidate_forecast(x, k, err);
}

bool pl_plan_forecast(const pl_plan_request *r, const pl_plan *plan, pl_arena *out,
                      pl_found **found, pl_err *err)
{
    pl_found *b = *found = PL_NEW(out, pl_found);
    b->strategy = r->strategy;
    PL_TRY(find_cluster(r, &b->strategy, out, &b->strategy.cluster, err));
    choosing x = pl_candidates_open(b, plan->graph, b->strategy.cluster, r, out);
    const bool ok = add_given(&x, plan, err);
    pl_candidates_close(&x);
    return ok;
}

/* As far as few of its blocks tell. */
static bool add_sketch(choosing *x, pl_err *err)
{
    pl_fold *fold = PL_NEW(x->out, pl_fold);
    *fold = pl_fold_find(x->g, x->out);
    pl_candidates_shorten(x, fold);
    x->b->take = x->b->at = PL_NEW(x->out, pl_candidate);
    return pl_candidates_add_layout(x, x->b->strategy.text, err);
}

static bool find_any(choosing *x, pl_err *err)
{
    pl_strategy s = x->b->strategy;
    pl_plan *plan;
    if (s.automatic) return find_auto(x, err);
    if (x->r->sketch && !x->r->evict && !s.file) return add_sketch(x, err);
    s.paths = x->lower.paths;
    return pl_strategy_plan(&s, x->g, NULL, x->out, &plan, err) && add_given(x, plan, err);
}

/* The plan for any memory, and if that does not fit what a policy makes of it. */
static bool find_evicted(choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    const double limit = b->limit;
    b->limit = INFINITY;
    const bool found = find_any(x, err);
    b->limit = limit;
    if (!found) return false;
    for (int i = 0; i < b->n; i++) b->at[i].fits = pl_candidate_fits(x, &b->at[i]);
    if (b->take->fits) return true;
    b->tight = b->take->known = true;
    pl_candidate base = *b->take;
    if (base.stages)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "--evict: a policy knows no pipelines: leave it out, or say "
                          "recompute=full");
    memset(x->few, 0, sizeof x->few); /* what is evicted is not alike in all blocks */
    PL_TRY(pl_candidate_whole(x, &base, err) && pl_candidate_forecast(x, &base, err));
    PL_TRY(pl_candidates_evicted(x, &base, x->r->evict, err));
    const pl_candidate evicted = b->at[--b->n];
    qsort(b->at, (size_t)b->n, sizeof *b->at, pl_candidate_order);
    memmove(b->at + 1, b->at, (size_t)b->n++ * sizeof *b->at);
    b->at[0] = evicted;
    b->take = b->at;
    return true;
}

bool pl_plan_find(const pl_plan_request *r, const pl_graph *g, pl_arena *out, pl_found **found,
                  pl_err *err)
{
    const double start = pl_clock_now();
    pl_found *b = *found = PL_NEW(out, pl_found);
    pl_strategy *s = &b->strategy;
    *s = r->strategy;
    PL_TRY(pl_strategy_read(s, out, err));
    PL_TRY(find_cluster(r, s, out, &s->cluster, err));
    choosing x = pl_candidates_open(b, g, s->cluster, r, out);
    const bool ok = r->evict ? find_evicted(&x, err) : find_any(&x, err);
    pl_candidates_close(&x);
    pl_watch_tell(r->search.watch, NULL, 0, 0);
    b->seconds = pl_clock_now() - start;
    return ok;
}

bool pl_plan_evict(const pl_plan_request *r, const pl_found *before, pl_arena *out,
                   pl_found **found, pl_err *err)
{
    const double start = pl_clock_now();
    pl_found *b = *found = PL_NEW(out, pl_found);
    *b = *before;
    choosing x = pl_candidates_open(b, before->take->plan->graph, b->strategy.cluster, r, out);
    const bool ok = evict_more(&x, before, err);
    pl_candidates_close(&x);
    b->seconds += pl_clock_now() - start;
    return ok;
}

bool pl_plan_find_all(const pl_plan_request *r, int n, pl_graph *const graph[], pl_arena *out,
                      const pl_plan *plan[], pl_found **found, pl_err *err)
{
    PL_TRY(pl_plan_find(r, *graph, out, found, err));
    plan[0] = (*found)->take->plan;
    for (int i = 1; i < n; i++) {
        pl_plan *p;
        PL_TRY(pl_strategy_plan(&(*found)->strategy, graph[i], plan[0], out, &p, err));
        plan[i] = p;
    }
    return true;
}
