/* What is kept of a plan, tensor by tensor: pl_candidates_evict(), and pl_candidates_evicted() of
 * one plan by a published policy. The schedule of an eviction problem (eviction.h) counts what
 * kernels make alone, so that its budget is a share of its own peak, and the forecast of the whole
 * says whether that was enough. */
#include "planners/candidates.h"
#include "planners/eviction.h"
#include "policies/find.h"

#include <math.h>
#include <string.h>

enum { MOST_RUNS = 2, TRIES = 4, POLICY_TRIES = 12 };

/* Of the room: as good as full, and what a budget that was too large comes down to. */
static const double FULL = 0.95, LESS = 0.985;

/* Of a step: what is made again takes so much that copies may be better. */
static const double DEAR = 1.1;

/* Schedules for one plan. */
typedef struct evicting {
    choosing *x;
    const pl_candidate *base;
    pl_eviction problem;
    const char *policy; /* NULL: ours, and only what is faster than all else that fits */
    bool ours, copies;
    int tries;
    double least; /* bytes: of the smallest one that was made */
    pl_err why;   /* of the last one that came to nothing     */
    pl_arena *tmp;
} evicting;

/* The fastest that keeps all, however much memory that takes. NULL: there is none. */
static const pl_candidate *find_base(const pl_found *b)
{
    const pl_candidate *k = NULL;
    for (int i = 0; i < b->n; i++) {
        const pl_forecast *f = &b->at[i].forecast;
        if (f->again_seconds > 0 || f->memory.host) continue;
        if (!k || f->step_seconds < k->forecast.step_seconds) k = &b->at[i];
    }
    return k;
}

static const char *name_of(const evicting *e, const pl_plan *p)
{
    int again = 0, hosted = 0;
    for (int i = 0; i < p->graph->values.n; i++) {
        again += p->recompute[i];
        hosted += p->kept[i] && p->kept[i]->host;
    }
    return pl_arena_fmt(e->x->out, "%s, %s%s%d tensors made again, %d on the host",
                        *e->base->name ? e->base->name : "one device", e->policy ? e->policy : "",
                        e->policy ? ": " : "", again, hosted);
}

/* Does a schedule take less beside its order than what is the fastest now does beside the base? */
static bool is_faster(const evicting *e, const pl_evict_schedule *s)
{
    const double longer = s->seconds - e->problem.facts.seconds;
    return e->base->forecast.step_seconds + longer < pl_candidates_fastest(e->x->b);
}

/* One more candidate, by a schedule within so many bytes. *work: its work block. False: there is
 * none that is faster. */
static bool try_budget(evicting *e, int64_t budget, double *work)
{
    choosing *x = e->x;
    const pl_evict_options o = { .policy = e->policy,
                                 .budget = budget,
                                 .effort = e->ours ? PL_EVICTION_EFFORT : 0,
                                 .no_copies = !e->copies,
                                 .stretches = PL_EVICTION_STRETCHES };
    pl_evict_schedule s;
    e->why = (pl_err){ 0 };
    if (!pl_evict_find(&e->problem.problem, &o, e->tmp, &s, &e->why)) return false;
    if (!e->policy && !is_faster(e, &s)) return false;
    pl_plan *p = pl_eviction_plan(&e->problem, &s, e->base->plan, x->out);
    const char *name = name_of(e, p);
    p->strategy = e->base->searched || !e->policy ? "auto" : name;
    if (!pl_plan_check(p, &e->why) || !pl_candidates_add(x, name, p, 0, &e->why)) return false;
    const pl_candidate *k = &x->b->at[x->b->n - 1];
    e->least = fmin(e->least, (double)k->forecast.memory.peak);
    *work = (double)k->forecast.memory.peak - (double)k->store->bytes;
    return true;
}

/* Budgets until the work block is as good as full. Only the fastest stays. */
static void search_budgets(evicting *e)
{
    choosing *x = e->x;
    const double room = x->b->limit - (double)e->base->store->bytes;
    double share = room / (double)e->base->program->work_bytes, low = 0, high = 1, work;
    const int first = x->b->n;
    for (int i = 0; i < e->tries && share < 1 && share > low; i++) {
        if (!try_budget(e, (int64_t)(share * (double)e->problem.facts.peak), &work)) {
            if (e->why.code && e->why.code != PL_EINFEASIBLE) return;
            low = share, share = (share + high) / 2; /* less than it can do with */
            continue;
        }
        const pl_candidate *k = &x->b->at[x->b->n - 1];
        *(k->fits ? &low : &high) = share;
        if (x->b->n > first + 1) {
            const bool worse = pl_candidate_order(k, &x->b->at[first]) > 0;
            if (!worse) x->b->at[first] = *k;
            x->b->n = first + 1;
        }
        if (work <= room && work > FULL * room) break;
        share = fmin(fmax(share * room / work * (work > room ? LESS : 1), low), high);
    }
}

static evicting open_evicting(choosing *x, const pl_candidate *base, const char *policy,
                              pl_arena *tmp)
{
    evicting e = { .x = x, .base = base, .policy = policy, .least = INFINITY, .tmp = tmp };
    e.ours = !policy || !strcmp(policy, "pleat");
    e.tries = policy ? POLICY_TRIES : TRIES;
    e.problem = pl_eviction_make(base->program, &x->speed, x->b->host_limit, tmp);
    e.copies = policy && e.problem.problem.out_bytes_per_s > 0;
    /* more runs are no part of a plan, which published policies do not know */
    if (e.ours) e.problem.problem.most_runs = MOST_RUNS;
    return e;
}

/* -- of auto ----------------------------------------------------------------------------------- */

/* The one of any candidate, or of a search where memory does not bind; lowered whole. */
static bool make_base(choosing *x, pl_candidate *base, pl_err *err)
{
    const pl_candidate *found = find_base(x->b);
    pl_auto any;
    if (found) {
        *base = *found;
    } else {
        PL_TRY(pl_candidates_any_memory(x, 0, 0, &any, err));
        const pl_auto_mesh *m = &any.mesh[any.best];
        *base = (pl_candidate){ .name = pl_mesh_text(&m->mesh, x->out), .problem = m->problem };
        base->plan =
            pl_problem_plan(m->problem, m->answer.value, NULL, "auto", x->lower.paths, x->out);
    }
    return pl_candidate_whole(x, base, err) && pl_candidate_forecast(x, base, err);
}

bool pl_candidates_evict(choosing *x, pl_err *err)
{
    const pl_candidate *k = pl_candidates_best(x->b);
    pl_candidate base;
    if (k && !(k->forecast.again_seconds > 0) && !k->forecast.memory.host) return true;
    if (x->stages > 1 || x->g->nodes.n > PL_EVICTION_NODES || pl_candidates_late(x)) return true;
    x->b->unevicted = x->r->blocks;
    if (x->r->blocks) return true;
    PL_TRY(make_base(x, &base, err));
    pl_arena *tmp = pl_arena_new("eviction");
    evicting e = open_evicting(x, &base, NULL, tmp);
    x->brief = true;
    search_budgets(&e);
    e.copies = e.problem.problem.out_bytes_per_s > 0;
    if (e.copies && pl_candidates_fastest(x->b) > DEAR * base.forecast.step_seconds)
        search_budgets(&e);
    x->brief = false;
    pl_arena_free(tmp);
    return true;
}

/* -- by a policy ------------------------------------------------------------------------------- */

static bool nothing_fits(const evicting *e, pl_err *err)
{
    const choosing *x = e->x;
    const pl_forecast_memory *all = &e->base->forecast.memory;
    const pl_evict_facts *f = &e->problem.facts;
    const char *limit = pl_text_size(x->out, x->b->limit);
    const char *whole = pl_text_size(x->out, (double)all->peak);
    if ((double)all->host > x->b->host_limit)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "the plan takes %s of the host's memory, of which "
                          "there are %s, before anything is evicted",
                          pl_text_size(x->out, (double)all->host),
                          pl_text_size(x->out, x->b->host_limit));
    if (e->why.code && e->why.code != PL_EINFEASIBLE)
        return pl_err_set(err, e->why.code, "--evict %s: %s", e->policy, e->why.msg);
    if (e->least < INFINITY)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "'%s' made nothing that fits in %s of a device: the least takes %s, and "
                          "the plan without it %s",
                          e->policy, limit, pl_text_size(x->out, e->least), whole);
    return pl_err_set(err, PL_EINFEASIBLE,
                      "'%s' found nothing that fits in %s of a device, of which states take %s; "
                      "the kernel of %s alone needs %s at once; the plan without it takes %s",
                      e->policy, limit, pl_text_size(x->out, (double)e->base->store->bytes),
                      e->problem.node[f->need_op]->name, pl_text_size(x->out, (double)f->need),
                      whole);
}

bool pl_candidates_evicted(choosing *x, const pl_candidate *base, const char *policy, pl_err *err)
{
    pl_found *b = x->b;
    const int first = b->n;
    pl_arena *tmp = pl_arena_new("eviction");
    evicting e = open_evicting(x, base, policy, tmp);
    search_budgets(&e);
    const pl_candidate *last = b->n > first ? &b->at[b->n - 1] : NULL;
    const bool ok = (last && last->fits) || nothing_fits(&e, err);
    pl_arena_free(tmp);
    return ok;
}
