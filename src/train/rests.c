/* Steps in which some objectives rest: counted over a period (pl_rests_find), and parts of the
 * whole step (pl_rests_plan). */
#include "train/rests.h"

#include "placement/speed.h"
#include "program/forecast.h"
#include "program/program.h"

static pl_rested *find(pl_rests *r, unsigned resting)
{
    for (int i = 0; i < r->n; i++)
        if (r->at[i].resting == resting) return &r->at[i];
    return NULL;
}

bool pl_rests_find(const pl_graph *g, const pl_trained *t, pl_rests *out, pl_err *err)
{
    const pl_optim optim = pl_objectives_usual(t->optim, t->args);
    *out = (pl_rests){ 0 };
    PL_TRY(pl_objectives_find(g, &optim, &out->objectives, err));
    out->period = pl_objectives_period(&out->objectives);
    const unsigned all = (1u << out->objectives.n) - 1;
    for (int64_t i = 1; i < out->period; i++) {
        const unsigned resting = pl_objectives_resting(&out->objectives, i);
        pl_rested *there = find(out, resting);
        if (resting == all)
            return pl_err_set(err, PL_EUSAGE,
                              "objectives: in step %lld none trains: one of them needs every=1",
                              (long long)i + 1);
        if (resting && !there && out->n == PL_MOST_RESTS)
            return pl_err_set(err, PL_EUSAGE, "objectives train in more than %d ways together",
                              PL_MOST_RESTS);
        if (resting && !there) {
            there = &out->at[out->n++];
            there->resting = resting;
        }
        if (there) there->steps++;
    }
    return true;
}

/* Of those that rest losses are no outputs, and weights with all that is of them stay as they are.
 * The sum of all losses is none either. */
static void find_kept(const pl_graph *g, const pl_objectives *list, unsigned resting, bool keeps[])
{
    for (int i = 0; i < g->values.n; i++) keeps[i] = true;
    for (int k = 0; k < list->n; k++) {
        if (!(resting >> k & 1)) continue;
        for (int i = 0; i < g->values.n; i++) {
            const pl_value *v = g->values.at[i];
            keeps[i] &= !pl_objective_trains(&list->at[k], v->of ? v->of : v);
        }
        for (int i = 0; i < g->outputs.n; i++)
            keeps[g->outputs.at[i]->id] &= !pl_objective_reports(&list->at[k], g->outputs.at[i]);
    }
    keeps[pl_graph_find(g, "loss")->id] = false;
}

bool pl_rests_plan(pl_rests *rests, const pl_plan *whole, pl_arena *arena, pl_err *err)
{
    for (int i = 0; i < rests->n; i++) {
        pl_rested *r = &rests->at[i];
        pl_excerpt e;
        bool *keeps = PL_NEW_N(arena, bool, whole->graph->values.n + 1);
        find_kept(whole->graph, &rests->objectives, r->resting, keeps);
        pl_graph_excerpt(whole->graph, keeps, arena, &e);
        r->graph = e.graph;
        r->plan = pl_plan_excerpt(whole, &e, arena);
        PL_TRY(pl_graph_check(r->graph, err) && pl_plan_check(r->plan, err));
    }
    return true;
}

bool pl_rests_mean(const pl_trained *t, const pl_found *f, const pl_lower_options *lower,
                   pl_arena *arena, double *seconds, pl_err *err)
{
    const pl_plan *p = f->take->plan;
    const pl_speed speed = pl_speed_of(f->strategy.cluster);
    pl_rests rests;
    *seconds = 0;
    PL_TRY(pl_rests_find(p->graph, t, &rests, err));
    if (!rests.n || p->stages || p->graph->micro > 1) return true;
    PL_TRY(pl_rests_plan(&rests, p, arena, err));
    int64_t left = rests.period;
    double sum = 0;
    for (int i = 0; i < rests.n; i++) {
        const pl_rested *r = &rests.at[i];
        pl_program *program;
        pl_forecast one;
        PL_TRY(pl_program_lower(r->plan, 0, pl_store_new(r->plan, 0, arena), lower, arena, &program,
                                err));
        pl_forecast_make(program, &speed, arena, &one);
        sum += (double)r->steps * one.step_seconds;
        left -= r->steps;
    }
    *seconds = (sum + (double)left * f->take->forecast.step_seconds) / (double)rests.period;
    return true;
}
