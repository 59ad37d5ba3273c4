/* test/support/request.h - what is asked of pl_plan_find, from the text of a strategy and a
 * cluster, and what it finds. */
#ifndef PL_TEST_SUPPORT_REQUEST_H
#define PL_TEST_SUPPORT_REQUEST_H
#include "planners/find.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline pl_plan_request request_of(const char *text, const pl_cluster *c, pl_arena *a)
{
    pl_plan_request r = { .cluster = c };
    pl_err err = { 0 };
    if (!pl_strategy_parse(text, c->n_devices, a, &r.strategy, &err)) fail_msg("%s", err.msg);
    return r;
}

static inline pl_cluster *cluster_of(const char *name, pl_arena *a)
{
    pl_cluster *c;
    pl_err err = { 0 };
    if (!pl_cluster_find(name, a, &c, &err)) fail_msg("%s", err.msg);
    return c;
}

static inline pl_found *find_plan(const pl_plan_request *r, const pl_graph *g, pl_arena *a)
{
    pl_found *found;
    pl_err err = { 0 };
    if (!pl_plan_find(r, g, a, &found, &err)) fail_msg("%g bytes: %s", r->search.memory, err.msg);
    return found;
}

/* Memory that rises: with more of it a plan is no slower. */
static inline void check_more(const pl_graph *g, pl_plan_request r, int n, const double memory[],
                       pl_arena *a)
{
    double before = INFINITY;
    for (int i = 0; i < n; i++) {
        r.search.memory = memory[i];
        const double step = find_plan(&r, g, a)->take->forecast.step_seconds;
        if (step > before)
            fail_msg("%g bytes: %g ms, but %g with less", memory[i], 1e3 * step, 1e3 * before);
        before = step;
    }
}

#endif
