/* The one entry. Read pl_plan_find() at the end; find_auto() is its road for auto: search every
 * mesh, lower and forecast what is found (candidates.h), and the published layouts beside it
 * (take_road); recompute blocks where memory binds (search_recomputed); take the fastest that
 * fits. */
#include "planners/offers.h"

#include "base/clock.h"
#include "base/each.h"
#include "plan/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Searches below less and less; then between what fits and what does not, while these are apart. */
enum { MOST_TRIES = 6, MOST_HALVES = 2 };
static const double WIDE = 0.95, NEARLY_FULL = 0.9, TRUSTED = 1.06, BEAT_GAP = 0.01;

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

/* -- doubts ------------------------------------------------------------------------------------ */

/* The tables say of each message how much of it could pass beside computing, as if it were the only
 * one; which are under way at once, and what they wait for, only the forecast knows. So the search
 * is asked again with less of that: what it finds then costs more in its own figures, and often
 * less in the forecast's. */
static const struct doubt {
    double hidden,
        window;   /* of those of an edge, so much is believed                              */
    double price; /* of pl_problem_chain; below 0: both sums                               */
} doubts[] = { { .5, .01, 1 }, { 1, .05, 1 }, { 1, 1, .7 }, { 1, .01, -1 } };
enum { N_DOUBTS = sizeof doubts / sizeof *doubts, DOUBT_EFFORT = 1 << 25 };
static const int64_t MOST_WORK = 1 << 28; /* of a search: after longer ones not both sums again */

static pl_problem doubt_tables(const pl_problem *t, const struct doubt *d, pl_arena *tmp)
{
    pl_problem out = *t;
    for (int k = 0; k < PL_N_EDGES; k++) {
        pl_edges *p = &out.edges[k];
        pl_edge *at = PL_NEW_N(tmp, pl_edge, p->n + 1);
        for (int i = 0; i < p->n; i++) {
            at[i] = p->at[i];
            at[i].hidden *= d->hidden;
            at[i].window *= d->window;
        }
        p->at = at;
    }
    return out;
}

static bool search_doubt(const choosing *x, const pl_auto_mesh *m, const struct doubt *d,
                         pl_arena *tmp, pl_answer *answer)
{
    pl_problem t = doubt_tables(m->problem, d, tmp);
    const pl_search_options rough = { .effort = DOUBT_EFFORT, .start = m->answer.value };
    const double cap = x->b->search->cap;
    pl_err why = { 0 };
    if (d->price < 0) return pl_problem_min(&t, cap, x->b->search->tied, &rough, tmp, answer, &why);
    pl_chain c = pl_problem_chain(&t, d->price, tmp);
    return x->b->search->tied ? pl_chain_tied(&c, cap, &rough, tmp, answer, &why)
                              : pl_chain_min(&c, cap, &rough, tmp, answer, &why);
}

/* With the places of a pipeline, of which a stage sees one. */
static const char *mesh_name(const choosing *x, const pl_mesh *stage)
{
    pl_mesh m = *stage;
    if (x->stages > 1) m.axis[pl_mesh_find(&m, PL_STAGE_AXIS)].size = x->stages;
    return pl_mesh_text(&m, x->out);
}

static bool add_answer(choosing *x, const pl_auto_mesh *m, const int *value, pl_err *err)
{
    const char *name = mesh_name(x, &m->mesh);
    if (m->problem->n_again) name = pl_recompute_name(x, name, m->problem, value);
    return pl_candidates_add_answer(x, name, m, value, err);
}

/* Where something else is found than without doubt. */
static bool make_doubted(choosing *x, const trial *t, pl_err *err)
{
    const pl_auto_mesh *m = t->mesh;
    const size_t n = (size_t)pl_chain_variables(&m->problem->chain);
    pl_answer a;
    if (!search_doubt(x, m, t->doubt, x->out, &a)) return true;
    return !memcmp(a.value, m->answer.value, n * sizeof *a.value) || add_answer(x, m, a.value, err);
}

/* The last candidate, that of a mesh, becomes a better one of it. */
static void doubt_last(choosing *x, const pl_auto_mesh *m)
{
    pl_candidate *last = &x->b->at[x->b->n - 1];
    trial t[N_DOUBTS] = { 0 };
    int n = 0;
    if (pl_candidates_late(x)) return;
    for (int i = 0; i < N_DOUBTS; i++)
        if (doubts[i].price >= 0 || m->answer.work <= MOST_WORK)
            t[n++] = (trial){ .make = make_doubted, .mesh = m, .doubt = &doubts[i] };
    pl_candidates_try(x, last, n, t, "playing through variant");
    for (int i = 0; i < n; i++)
        if (t[i].made.n && pl_candidate_order(t[i].made.at, last) < 0)
            pl_candidates_take(x, &t[i], last);
        else
            pl_arena_free(t[i].x.out);
}

/* -- search ------------------------------------------------------------------------------------ */

static const pl_auto_options *auto_options(const choosing *x)
{
    pl_auto_options *o = PL_NEW(x->out, pl_auto_options);
    *o = x->r->search;
    o->memory = x->b->limit;
    o->stages = x->stages;
    o->paths = x->lower.paths;
    return o;
}

/* The best plan of every mesh. How much less memory it would take for one to fit; 0: one does. */
static bool add_found(choosing *x, double *over, pl_err *err)
{
    const pl_auto *f = x->b->search;
    double least = INFINITY;
    for (int i = 0; i < f->n; i++) {
        const pl_auto_mesh *m = &f->mesh[i];
        if (!m->fits) continue;
        pl_watch_tell(f->watch, "playing through the plan of mesh", i + 1, f->n);
        PL_TRY(add_answer(x, m, m->answer.value, err));
        /* with fewer blocks recomputed it may be faster than its bound */
        const double spared = m->problem->n_again == 1 ? PL_RECOMPUTE_MOST : 1;
        const pl_candidate *k = &x->b->at[x->b->n - 1];
        const bool worth = m->bound / x->shares < spared * pl_candidates_goal(x);
        if (!f->method && worth && k->fits) doubt_last(x, m); /* else a lesser cap comes first */
        least = fmin(least, fmax(0, (double)k->forecast.memory.peak - pl_candidate_limit(x->b, k)));
    }
    *over = least;
    return true;
}

/* The plan of a mesh that takes the least memory. False: there is none, or it is too large. */
static bool add_least(choosing *x, const pl_auto *f, int mesh)
{
    pl_err why = { 0 };
    const char *name = mesh_name(x, &f->mesh[mesh].mesh);
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

/* Does memory bind, by the tables? */
static bool is_bound(const choosing *x)
{
    const pl_auto *f = x->b->search;
    return f->cap < x->b->limit || f->mesh[f->best].answer.price > 0;
}

/* Searches below a cap. Where it binds blocks may be recomputed, then and below all lesser caps:
 * the bound of the first one is one of all such plans. */
static bool search_binding(choosing *x, double cap, pl_err *err)
{
    pl_found *b = x->b;
    pl_err why = { 0 };
    const bool found = pl_auto_again(b->search, cap, x->out, &why);
    const bool may = !x->some && x->stages == 1 && !b->search->method &&
                     pl_fold_copies(&b->search->fold) && !pl_candidates_late(x);
    if (may && !(found && !is_bound(x))) {
        b->search = x->some = pl_recompute_search(x, false);
        if (cap < b->limit) x->some->bound = x->plain->bound; /* memory did not bind before */
        return x->bounded = pl_auto_again(x->some, cap, x->out, err);
    }
    if (!found) *err = why;
    return found;
}

/* *over: as of add_found. */
static bool search_below(choosing *x, double cap, double *over, pl_err *err)
{
    return search_binding(x, cap, err) && add_found(x, over, err);
}

/* What fits below `low` takes more than the tables say, and what is found below `high` more than
 * there is, but other plans take other amounts more: something between may fit and be faster. */
static void search_between(choosing *x, double low, double high)
{
    pl_auto *f = x->b->search;
    for (int i = 0; i < MOST_HALVES && low < WIDE * high && !pl_candidates_late(x); i++) {
        const double cap = (low + high) / 2, fastest = pl_candidates_fastest(x->b);
        const pl_auto before = *f;
        pl_auto_mesh *mesh = PL_NEW_N(x->out, pl_auto_mesh, f->n);
        pl_err why = { 0 };
        double over;
        memcpy(mesh, f->mesh, (size_t)f->n * sizeof *mesh);
        const bool ok = search_below(x, cap, &over, &why);
        if (ok && over <= 0)
            low = cap;
        else
            high = cap;
        if (pl_candidates_fastest(x->b) < fastest) continue;
        memcpy(f->mesh, mesh, (size_t)f->n * sizeof *mesh); /* that search is told of again */
        mesh = f->mesh;
        *f = before;
        f->mesh = mesh;
    }
}

/* Searches below a cap. False also where nothing that is found there, be it too large, is faster
 * than what there is to beat: what takes less memory is slower. */
static bool search_worth(choosing *x, double cap, double *over, pl_err *err)
{
    const int from = x->b->n;
    double least = INFINITY;
    PL_TRY(search_below(x, cap, over, err));
    for (int i = from; i < x->b->n; i++) least = fmin(least, x->b->at[i].forecast.step_seconds);
    return !(x->r->beat > 0 && least >= x->r->beat) ||
           pl_err_set(err, PL_EINFEASIBLE, "no plan takes less than about %.4g s a step", least);
}

/* Bytes of a device of each place, all together. */
static double sum_limits(const choosing *x)
{
    const int n = x->c->n_devices / x->stages;
    double sum = 0;
    for (int place = 0; place < x->stages; place++) sum += pl_candidates_room(x, place * n, n);
    return sum;
}

/* The tables count all stages, as if they lay on one device. What all of them hold together is no
 * less; so no plan fits that takes as many times the memory by them. What one place holds of it,
 * only a program knows. */
static bool search_stages(choosing *x, pl_err *err)
{
    const double all = sum_limits(x);
    double over, cap = all;
    pl_err why = { 0 };
    const int from = x->b->n;
    if (!search_worth(x, cap, &over,
                      err)) { /* with all blocks recomputed something may still fit */
        x->b->beaten = x->b->n > from && isinf(pl_candidates_fastest(x->b));
        return false;
    }
    for (int i = 1; over > 0 && i < MOST_TRIES && !pl_candidates_late(x); i++) {
        cap = WIDE * fmin(cap, x->b->search->memory) * all / (all + x->stages * over);
        if (!search_worth(x, cap, &over, &why)) return why.code == PL_EINFEASIBLE;
    }
    return true;
}

/* Searches below the cap, and below less as long as programs take more than that. False: there is
 * nothing by the tables' figures. */
static bool search(choosing *x, pl_err *err)
{
    double over, cap = x->b->limit, high = cap;
    pl_err why = { 0 };
    if (x->stages > 1) return search_stages(x, err);
    PL_TRY(search_below(x, cap, &over, err));
    for (int i = 1; over > 0 && i < MOST_TRIES && !pl_candidates_late(x); i++) {
        high = cap;
        cap = fmin(cap, x->b->search->memory) - over;
        if (cap <= 0 || !search_binding(x, cap, &why)) return true;
        PL_TRY(add_found(x, &over, err));
    }
    if (over <= 0 && cap < high) search_between(x, cap, high);
    return true;
}

/* Goes on with other tables; false: an error. */
static bool search_other(choosing *x, pl_auto *other, pl_err *err)
{
    pl_err why = { 0 };
    x->b->search = other;
    if (search(x, &why) || why.code == PL_EINFEASIBLE) return true;
    *err = why;
    return false;
}

/* The forecast of the best so far is near what tables say of theirs. */
static bool is_trusted(const choosing *x, const pl_auto *tables)
{
    return pl_candidates_fastest(x->b) <= TRUSTED * tables->seconds;
}

/* Goes on with the tables of plans that keep all, or recompute all. */
static bool search_apart(choosing *x, pl_auto *apart, pl_err *err)
{
    pl_auto *last = x->b->search;
    apart->search_seconds = last->search_seconds;
    PL_TRY(search_other(x, apart, err));
    last->search_seconds = apart->search_seconds;
    x->b->search = last;
    return true;
}

/* Is the fastest one of those that recompute blocks? */
static bool is_gain(const choosing *x)
{
    const pl_candidate *k = pl_candidates_best(x->b);
    return k && k->problem && k->problem->n_again && pl_recompute_is_named(k);
}

/* Where plans take longer than the tables say, these lead no further, if they recompute anything:
 * that takes messages again, which they do not see. Then those that keep all, and one that
 * recomputes all, for which memory hardly binds, as a base of candidates that recompute fewer
 * (pl_candidates_spare). */
static bool search_recomputed(choosing *x, pl_err *err)
{
    pl_auto *plain = x->plain, *last = x->b->search;
    if (!pl_fold_copies(&plain->fold) || pl_candidates_late(x)) return true;
    if (x->bounded && (is_trusted(x, last) || pl_recompute_is_none(last))) return true;
    if (last != plain && plain->best >= 0 && plain->seconds < pl_candidates_fastest(x->b))
        PL_TRY(search_apart(x, plain, err));
    if (x->bounded && (is_trusted(x, last) || is_gain(x))) return true;
    return search_apart(x, pl_recompute_search(x, true), err);
}

/* Pipelines that recompute all blocks beside those that recompute none; the bound is of both. */
static bool search_stages_recomputed(choosing *x, pl_err *err)
{
    pl_auto *plain = x->plain;
    if (!pl_fold_copies(&plain->fold) || pl_candidates_late(x)) return true;
    pl_auto *all = pl_recompute_search(x, true);
    PL_TRY(search_other(x, all, err));
    all->bound = fmin(plain->bound, all->bound);
    return true;
}

/* The search that is told of is the one of what is taken; the bound is of both. */
static void tell_search(choosing *x)
{
    pl_auto *plain = x->plain, *last = x->b->search;
    const pl_candidate *k = pl_candidates_best(x->b);
    if (last == plain) return;
    if (!x->bounded) last->bound = fmin(last->bound, plain->bound);
    if (k && k->problem && k->problem->n_again) return;
    plain->bound = last->bound, plain->search_seconds = last->search_seconds;
    x->b->search = plain;
}

/* -- taking ------------------------------------------------------------------------------------ */

/* Of what is nearly full, the layout of the whole program decides whether it fits. */
static bool needs_whole(const choosing *x, const pl_candidate *k)
{
    const double peak = (double)k->forecast.memory.peak, limit = pl_candidate_limit(x->b, k);
    const bool full = peak > NEARLY_FULL * limit && NEARLY_FULL * peak < limit;
    const bool brief = k->brief && !k->forecast.comm_bytes;
    return brief || (x->stages > 1 && pl_candidate_seeks_schedule(x, k)) ||
           (k->forecast.times && (x->r->whole || full));
}

/* The fastest; when it needs a little more, made whole, than was forecast from few blocks, and does
 * not fit, the next one, as long as there is one that does. */
static bool take_best(choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    for (bool fitted = true; fitted;) {
        qsort(b->at, (size_t)b->n, sizeof *b->at, pl_candidate_order);
        b->take = b->at;
        fitted = b->take->fits;
        PL_TRY(pl_candidate_whole(x, b->take, err));
        if (!needs_whole(x, b->take)) break;
        PL_TRY(pl_candidate_forecast(x, b->take, err));
        if (b->take->fits) break;
    }
    return true;
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
        r->searched = search(r->x, &r->why) || r->why.code == PL_EINFEASIBLE;
}

/* What waits for the search. */
static bool add_rest(choosing *x, pl_offers *l, pl_err *err)
{
    x->tight = x->b->tight = pl_candidates_tight(x);
    const bool ok =
        !x->tight || (x->stages > 1 ? search_stages_recomputed : search_recomputed)(x, err);
    tell_search(x);
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
    PL_TRY(pl_candidates_any_memory(x, BEAT_GAP, &any, err));
    x->b->beaten = any.bound / x->shares >= beat;
    return !x->b->beaten || pl_err_set(err, PL_EINFEASIBLE, "no plan takes less than %.4g s a step",
                                       any.bound / x->shares);
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
    PL_TRY(pl_candidates_any_memory(x, 0, &any, err));
    x->b->search->bound = fmin(x->b->search->bound, any.bound);
    return true;
}

static bool find_auto(choosing *x, pl_err *err)
{
    pl_found *b = x->b;
    const bool published = x->r->search.method;
    roads r = { .x = x };
    PL_TRY(pl_auto_open(x->g, x->c, auto_options(x), x->out, &b->search, err));
    x->plain = b->search;
    PL_TRY(check_least(x, err) && check_beat(x, err));
    b->at = PL_NEW_N(x->out, pl_candidate,
                     2 * (MOST_TRIES + MOST_HALVES + 1) * b->search->n + PL_MOST_OFFERS + 1 +
                         PL_EVICT_ROOM);
    b->refused = PL_NEW_N(x->out, pl_refused, PL_MOST_OFFERS);
    x->fold = &b->search->fold;
    if (x->stages == 1) pl_candidates_shorten(x, x->fold);
    r.l = pl_offers_usual(x);
    PL_TRY(pl_offers_check(x, r.l, err));
    r.found = *b, r.beside = *x;
    r.beside.b = &r.found;
    pl_each(pl_offers_wait(r.l) ? 2 : 1, take_road, &r);
    if (!r.searched || b->beaten) pl_offers_take(x, r.l);
    if (b->beaten) {
        *err = r.why;
        return false;
    }
    if (r.searched && !published) PL_TRY(add_rest(x, r.l, err));
    for (int i = 0; r.searched && i < b->search->n && pl_candidates_fastest(b) >= INFINITY; i++)
        (void)!add_least(x, b->search, i);
    if (!r.searched || !b->n) {
        *err = r.why;
        return false;
    }
    PL_TRY(take_best(x, err));
    if (!b->take->fits) return nothing_fits(x, err);
    PL_TRY(loosen_bound(x, err));
    if (b->search->best < 0) PL_TRY(pl_auto_again(b->search, INFINITY, x->out, err));
    b->search->seconds /= x->shares; /* the longest stage takes no less than all in the mean */
    b->search->bound /= x->shares;
    return true;
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
