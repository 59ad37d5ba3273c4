/* A candidate in stages: places of the pipeline are lowered, one of those that do the same work,
 * and played as the schedule says. Read pl_candidate_forecast_stages(). */
#include "planners/candidates.h"

#include "base/each.h"
#include "plan/stages.h"
#include "program/forecast_stages.h"
#include "schedules/make.h"

#include <math.h>
#include <string.h>

/* Programs of places, and what the plan takes by them. */
typedef struct staged {
    const choosing *x;
    const pl_plan *plan;
    int n;                      /* places */
    int *like;                  /* [n] the first that does the same work                     */
    const pl_speed *speed;      /* [n]                                                       */
    pl_arena **arena;           /* [n] that owns the program; NULL: like another one         */
    const pl_program **program; /* [n]                                                       */
    pl_err *err;                /* [n]                                                       */
    pl_forecast *f;             /* [n]                                                       */
    pl_stages_forecast *all;
} staged;

/* -- places ------------------------------------------------------------------------------------ */

static void find_alike(staged *s)
{
    pl_arena *tmp = pl_arena_new("fold");
    const pl_fold fold = s->x->fold ? *s->x->fold : pl_fold_find(s->plan->graph, tmp);
    pl_stages_alike(s->plan, &fold, s->speed, s->like);
    pl_arena_free(tmp);
}

static const pl_speed *find_speeds(const choosing *x, const pl_plan *plan, pl_arena *tmp)
{
    const int n = plan->stages->order->n_ranks;
    pl_speed *speed = PL_NEW_N(tmp, pl_speed, n);
    for (int c = 0; c < n; c++)
        speed[c] = pl_stages_speed(&plan->mesh, plan->stages->axis, x->c, c);
    return speed;
}

static staged open_places(const choosing *x, const pl_plan *plan, pl_arena *tmp)
{
    const int n = plan->stages->order->n_ranks;
    staged s = { .x = x, .plan = plan, .n = n };
    s.like = PL_NEW_N(tmp, int, n);
    s.arena = PL_NEW_N(tmp, pl_arena *, n);
    s.program = PL_NEW_N(tmp, const pl_program *, n);
    s.err = PL_NEW_N(tmp, pl_err, n);
    s.f = PL_NEW_N(tmp, pl_forecast, n);
    s.all = PL_NEW(x->out, pl_stages_forecast);
    s.speed = find_speeds(x, plan, tmp);
    find_alike(&s);
    return s;
}

static bool lower_place(const choosing *x, const pl_plan *plan, int place, pl_arena *out,
                        const pl_program **program, pl_err *err)
{
    const int rank = pl_stages_rank(plan, place);
    pl_program *p = NULL;
    const bool ok =
        pl_program_lower(plan, rank, pl_store_new(plan, rank, out), &x->lower, out, &p, err);
    *program = p;
    return ok;
}

static void lower_one(void *with, int c)
{
    staged *s = with;
    if (s->like[c] != c) return;
    s->arena[c] = pl_arena_new("place");
    (void)!lower_place(s->x, s->plan, c, s->arena[c], &s->program[c], &s->err[c]);
}

static void close_places(staged *s)
{
    for (int c = 0; c < s->n; c++) pl_arena_free(s->arena[c]);
}

static bool play(staged *s, pl_arena *tmp, pl_err *err)
{
    pl_each(s->n, lower_one, s);
    for (int c = 0; c < s->n; c++)
        if (s->err[c].code) {
            *err = s->err[c];
            return false;
        }
    pl_forecast_stages(s->n, s->program, s->like, s->speed, s->x->out, tmp, s->f, s->all);
    return true;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Bytes of a device at a place. */
static double place_limit(const staged *s, int place)
{
    int first, n;
    pl_stages_devices(&s->plan->mesh, s->plan->stages->axis, place, &first, &n);
    return pl_candidates_room(s->x, first, n);
}

/* The place whose devices are fullest. */
static int find_fullest(const staged *s)
{
    double most = -1;
    int fullest = 0;
    for (int c = 0; c < s->n; c++) {
        const double limit = place_limit(s, c), peak = (double)s->f[c].memory.peak;
        const double full = isfinite(limit) ? peak / limit : peak;
        if (full > most) most = full, fullest = c;
    }
    return fullest;
}

/* The program of a place, and its forecast as it was when all were there. */
static bool keep_place(staged *s, pl_candidate *k, int place, pl_err *err)
{
    const choosing *x = s->x;
    const pl_program *p = s->program[place];
    pl_forecast alone;
    if (p) {
        pl_arena_adopt(x->out, s->arena[place]);
        s->arena[place] = NULL;
    } else {
        PL_TRY(lower_place(x, s->plan, place, x->out, &p, err));
    }
    pl_forecast_make(p, &s->speed[place], x->out, &alone);
    k->program = p;
    k->store = p->store;
    k->forecast = s->f[place];
    k->forecast.program = p;
    k->forecast.begin = alone.begin, k->forecast.end = alone.end, k->forecast.live = alone.live;
    k->fits = pl_candidate_fits(x, k);
    return true;
}

/* -- schedules --------------------------------------------------------------------------------- */

/* schedule=search is made for usual seconds and any memory; now that both are known, it is looked
 * for again. Memory is what the place has that leaves least beside its micro-batches. NULL: there
 * is none. */
static const pl_plan *search_schedule(const staged *s)
{
    const pl_pipeline *order = s->plan->stages->order;
    pl_arena *out = s->x->out;
    pl_pipeline_request r = { .ranks = order->n_ranks,
                              .micro = order->n_micro,
                              .costs = &s->all->costs };
    double room = INFINITY;
    pl_err why = { 0 };
    for (int c = 0; c < s->n; c++) {
        const double static_bytes = (double)s->f[c].memory.peak - s->all->times.held[c];
        room = fmin(room, place_limit(s, c) - static_bytes);
    }
    if (isfinite(room)) r.memory = room;
    pl_pipeline *found = PL_NEW(out, pl_pipeline);
    if (room <= 0 || !pl_pipeline_make(order->name, &r, out, found, &why)) return NULL;
    pl_plan *plan = PL_NEW(out, pl_plan);
    pl_stages *stages = PL_NEW(out, pl_stages);
    *plan = *s->plan;
    *stages = *s->plan->stages;
    stages->order = found;
    plan->stages = stages;
    return plan;
}

bool pl_candidate_seeks_schedule(const choosing *x, const pl_candidate *k)
{
    const pl_stages *s = k->plan->stages;
    return s && !strcmp(s->order->name, "search") && (x->stages == 1 || k == x->b->take);
}

bool pl_candidate_forecast_stages(const choosing *x, pl_candidate *k, pl_err *err)
{
    pl_arena *tmp = pl_arena_new("stages");
    staged s = open_places(x, k->plan, tmp);
    bool ok = play(&s, tmp, err);
    const pl_plan *better = ok && pl_candidate_seeks_schedule(x, k) ? search_schedule(&s) : NULL;
    if (better) {
        close_places(&s);
        s = open_places(x, k->plan = better, tmp);
        ok = play(&s, tmp, err);
    }
    if (ok) {
        const int most = find_fullest(&s);
        k->stages = s.all;
        k->limit = x->c->n_classes > 1 ? place_limit(&s, most) : 0;
        ok = keep_place(&s, k, most, err);
    }
    close_places(&s);
    pl_arena_free(tmp);
    return ok;
}
