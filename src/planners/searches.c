/* What auto's search finds until it fits. Read pl_searches_run(): below less and less memory, what
 * is found is lowered and doubted (add_found); and pl_searches_recompute(), where memory binds. */
#include "planners/searches.h"

#include "plan/stages.h"

#include <math.h>
#include <string.h>

/* Searches below less and less; then between what fits and what does not, while these are apart. */
enum { MOST_TRIES = 6, MOST_HALVES = 2, MOST_ALIKE = 3, MOST_DOUBTED = 3 };
static const double WIDE = 0.95, TRUSTED = 1.06;
_Static_assert(2 * (MOST_TRIES + MOST_HALVES + 1) < PL_SEARCHES_ROOM, "candidates of a mesh");

/* -- doubts ------------------------------------------------------------------------------------ */

/* The tables say of each message how much of it could pass beside computing, as if it were the only
 * one; which are under way at once, and what they wait for, only the forecast knows. So the search
 * is asked again with less of that: what it finds then costs more in its own figures, and often
 * less in the forecast's. */
static const struct doubt {
    double hidden,
        window;   /* of those of an edge, so much is believed                              */
    double price; /* of pl_problem_chain; below 0: both sums                               */
} doubts[] = { { 1, .01, -1 }, { .5, .01, 1 }, { 1, .05, 1 }, { 1, 1, .7 } }; /* longest first */
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
                         double cap, pl_arena *tmp, pl_answer *answer)
{
    pl_problem t = doubt_tables(m->problem, d, tmp);
    const pl_search_options rough = { .effort = DOUBT_EFFORT, .start = m->answer.value };
    pl_err why = { 0 };
    if (d->price < 0) return pl_problem_min(&t, cap, x->b->search->tied, &rough, tmp, answer, &why);
    pl_chain c = pl_problem_chain(&t, d->price, tmp);
    return x->b->search->tied ? pl_chain_tied(&c, cap, &rough, tmp, answer, &why)
                              : pl_chain_min(&c, cap, &rough, tmp, answer, &why);
}

static bool add_answer(choosing *x, const pl_auto_mesh *m, const int *value, pl_err *err)
{
    const char *name = pl_candidates_mesh_name(x, &m->mesh);
    if (m->problem->n_again) name = pl_recompute_name(x, name, m->problem, value);
    return pl_candidates_add_answer(x, name, m, value, err);
}

/* Where something else is found than without doubt; where that is faster but does not fit, below
 * less memory by what it lacks. */
static bool make_doubted(choosing *x, const trial *t, pl_err *err)
{
    const pl_auto_mesh *m = t->mesh;
    const size_t n = (size_t)pl_chain_variables(&m->problem->chain);
    double cap = x->b->search->cap;
    pl_answer a;
    for (int i = 0; i < MOST_DOUBTED && search_doubt(x, m, t->doubt, cap, x->out, &a); i++) {
        if (!memcmp(a.value, m->answer.value, n * sizeof *a.value)) return true;
        x->b->n = 0;
        PL_TRY(add_answer(x, m, a.value, err));
        pl_candidate *k = &x->b->at[0];
        k->doubt = t->doubt;
        const double over = pl_candidate_excess(x, k);
        const bool faster = k->forecast.step_seconds < x->beat->forecast.step_seconds;
        if (over <= 0 || !faster || x->stages > 1) break;
        cap = fmin(cap, pl_problem_cost(m->problem, a.value).memory) - over;
    }
    return true;
}

/* A pipeline that recomputes all blocks is there for those that recompute fewer. */
static bool is_base(const choosing *x, const pl_auto_mesh *m)
{
    return x->stages > 1 && m->problem->n_again == 1;
}

static bool is_better(const choosing *x, const pl_auto_mesh *m, const pl_candidate *a,
                      const pl_candidate *b)
{
    const double p = is_base(x, m) ? pl_recompute_spared(x, a) : INFINITY;
    const double q = is_base(x, m) ? pl_recompute_spared(x, b) : INFINITY;
    const bool told = a->fits && b->fits && isfinite(p) && isfinite(q) && p != q;
    return told ? p < q : pl_candidate_order(a, b) < 0;
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
        if (t[i].made.n && is_better(x, m, t[i].made.at, last))
            pl_candidates_take(x, &t[i], last);
        else
            pl_arena_free(t[i].x.out);
}

/* -- below a cap ------------------------------------------------------------------------------- */

/* How many times as long as the least a plan may take: one that recomputes all blocks takes less
 * with fewer of them. */
static double spare_of(const pl_problem *problem)
{
    return problem->n_again == 1 ? PL_RECOMPUTE_MOST : 1;
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
        const pl_candidate *k = &x->b->at[x->b->n - 1];
        const bool worth = m->bound / x->shares < spare_of(m->problem) * pl_candidates_goal(x);
        const bool use = !is_base(x, m) || pl_recompute_is_worth(x, k);
        if (!f->method && worth && use && k->fits)
            doubt_last(x, m); /* else a lesser cap comes first */
        least = fmin(least, fmax(0, pl_candidate_excess(x, k)));
    }
    *over = least;
    return true;
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

/* Is no plan faster than what there is to beat, of those that keep all on the device or recompute
 * blocks? Then lesser caps are no use. */
static bool is_beaten(const choosing *x)
{
    const pl_auto *f = x->b->search;
    return x->r->beat > 0 && f->bound / x->shares >= spare_of(f->mesh->problem) * x->r->beat;
}

/* Searches below a cap. False also where nothing that is found there, be it too large, leads to
 * what is faster than what there is to beat: what takes less memory is slower. */
static bool search_worth(choosing *x, double cap, double *over, pl_err *err)
{
    const int from = x->b->n;
    const double most = spare_of(x->b->search->mesh->problem) * x->r->beat;
    double least = INFINITY;
    PL_TRY(search_below(x, cap, over, err));
    for (int i = from; i < x->b->n; i++) least = fmin(least, x->b->at[i].forecast.step_seconds);
    return !(most > 0 && least >= most) ||
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
bool pl_searches_run(choosing *x, pl_err *err)
{
    double over, cap = x->b->limit, high = cap;
    pl_err why = { 0 };
    if (x->stages > 1) return search_stages(x, err);
    PL_TRY(search_below(x, cap, &over, err));
    for (int i = 1; over > 0 && i < MOST_TRIES && !is_beaten(x) && !pl_candidates_late(x); i++) {
        high = cap;
        cap = fmin(cap, x->b->search->memory) - over;
        if (cap <= 0 || !search_binding(x, cap, &why)) return true;
        PL_TRY(add_found(x, &over, err));
    }
    if (over <= 0 && cap < high && !is_beaten(x)) search_between(x, cap, high);
    return true;
}

/* Goes on with other tables; false: an error. */
static bool search_other(choosing *x, pl_auto *other, pl_err *err)
{
    pl_err why = { 0 };
    x->b->search = other;
    if (pl_searches_run(x, &why) || why.code == PL_EINFEASIBLE) return true;
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
    if (x->bounded && (is_beaten(x) || is_trusted(x, last) || pl_recompute_is_none(last)))
        return true;
    if (last != plain && plain->best >= 0 && plain->seconds < pl_candidates_fastest(x->b))
        PL_TRY(search_apart(x, plain, err));
    if (x->bounded && (is_trusted(x, last) || is_gain(x))) return true;
    return search_apart(x, pl_recompute_search(x, true), err);
}

/* Pipelines that recompute all blocks beside those that recompute none, if with any memory those
 * would be faster than what fits; the bound is of both. */
static bool search_stages_recomputed(choosing *x, pl_err *err)
{
    pl_auto *plain = x->plain;
    if (x->b->n && pl_candidates_least(x->b) >= pl_candidates_goal(x)) return true;
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

/* What it was found on; NULL: on none, or one that is searched no more. */
static pl_auto_mesh *find_mesh(const pl_auto *f, const pl_candidate *k)
{
    for (int i = 0; i < f->n; i++)
        if (f->mesh[i].problem == k->problem) return &f->mesh[i];
    return NULL;
}

bool pl_searches_less(choosing *x, const pl_candidate *k, double over, pl_err *err)
{
    const pl_auto *f = x->b->search;
    pl_auto_mesh *m = find_mesh(f, k);
    if (!m || f->method || x->stages > 1 || pl_candidates_late(x)) return true;
    const double cap = pl_problem_cost(k->problem, k->value).memory - over;
    const pl_search_options o = { .until = f->until };
    const struct doubt *doubt = k->doubt;
    pl_answer a;
    pl_err why = { 0 };
    const bool found = cap > 0 && (doubt ? search_doubt(x, m, doubt, cap, x->out, &a)
                                         : pl_problem_below(m->problem, cap, f->tied, &o,
                                                            &m->opened, x->out, &a, &why));
    return !found || add_answer(x, m, a.value, err);
}

bool pl_searches_as(choosing *x)
{
    const pl_found *as = x->r->as;
    pl_auto *f = PL_NEW(x->out, pl_auto);
    *f = *as->search;
    x->b->search = x->plain = f;
    x->b->at = PL_NEW_N(x->out, pl_candidate, MOST_ALIKE + PL_EVICT_ROOM);
    for (int i = 0; i < as->n && x->b->n < MOST_ALIKE; i++) {
        const pl_candidate *k = &as->at[i];
        const pl_auto_mesh *m = k->value ? find_mesh(f, k) : NULL;
        pl_err why = { 0 };
        if (m) (void)!add_answer(x, m, k->value, &why);
    }
    return pl_candidates_fastest(x->b) < INFINITY;
}

bool pl_searches_recompute(choosing *x, pl_err *err)
{
    const bool ok =
        !x->tight || (x->stages > 1 ? search_stages_recomputed : search_recomputed)(x, err);
    tell_search(x);
    return ok;
}
