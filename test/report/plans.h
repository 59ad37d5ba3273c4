/* Plans of small models with a forecast of their own, for tests of what is written about plans. */
#ifndef PL_TEST_REPORT_PLANS_H
#define PL_TEST_REPORT_PLANS_H
#include "layouts/strategy.h"
#include "report/html.h"
#include "train/optim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PLANS_GPT "gpt2:layers=3,hidden=16,heads=4,vocab=64,seq=8,batch=8"

/* Steps one after the other, longer ones for longer labels, with memory that rises and falls. */
static inline const pl_forecast *plans_forecast(const pl_program *p, pl_arena *a)
{
    pl_forecast *f = PL_NEW(a, pl_forecast);
    f->begin = PL_NEW_N(a, double, p->n_steps + 1);
    f->end = PL_NEW_N(a, double, p->n_steps + 1);
    f->live = PL_NEW_N(a, int64_t, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++) {
        double seconds = 1.0009e-6 * (double)strlen(p->step[i].label);
        f->begin[i] = f->step_seconds;
        f->end[i] = f->step_seconds += seconds;
        *(p->step[i].kind == PL_MESSAGE ? &f->comm_seconds : &f->compute_seconds) += seconds;
        f->live[i] = p->work_bytes * (i < p->n_steps / 2 ? i : p->n_steps - i) / p->n_steps;
        if (f->live[i] > f->live[f->peak_step]) f->peak_step = i;
    }
    f->exposed_seconds = f->step_seconds - f->compute_seconds;
    f->comm_bytes = p->message_bytes;
    f->memory = (pl_forecast_memory){ 1001, 2003, 3007, 211, 4013, 5021, 6029, 21074 };
    return f;
}

static inline pl_plan *plans_find(const char *model, const char *strategy, int n, pl_arena *a)
{
    const pl_optim o = pl_optim_usual("adamw");
    pl_model_args args;
    pl_strategy s;
    pl_graph *g;
    pl_plan *plan = NULL;
    pl_err err = { 0 };
    bool ok = pl_model_parse(model, a, &args, &err);
    if (ok) {
        pl_builder b = pl_optim_step(&args, &o, 1, a);
        ok = pl_builder_done(&b, &g, &err) && pl_strategy_parse(strategy, n, a, &s, &err) &&
             pl_strategy_plan(&s, g, NULL, a, &plan, &err);
    }
    if (!ok) fail_msg("%s, %s: %s", model, strategy, err.msg);
    return plan;
}

static inline pl_html_plan plans_lower(const char *model, const char *strategy, pl_plan *plan,
                                       pl_arena *a)
{
    const pl_lower_options options = { 0 };
    pl_program *p = NULL;
    pl_err err = { 0 };
    if (!pl_program_lower(plan, 0, pl_store_new(plan, 0, a), &options, a, &p, &err))
        fail_msg("%s, %s: %s", model, strategy, err.msg);
    return (pl_html_plan){ .name = pl_arena_fmt(a, "%s.json", strategy),
                           .model = model,
                           .cluster = "1x4xv100",
                           .strategy = strategy,
                           .plan = plan,
                           .program = p,
                           .forecast = plans_forecast(p, a),
                           .limit_bytes = 40000 };
}

static inline pl_html_plan plans_make(const char *model, const char *strategy, int n, pl_arena *a)
{
    return plans_lower(model, strategy, plans_find(model, strategy, n, a), a);
}

#endif
