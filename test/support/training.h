/* test/support/training.h - the training step of a model under a strategy, as programs. */
#ifndef PL_TEST_SUPPORT_TRAINING_H
#define PL_TEST_SUPPORT_TRAINING_H
#include "graph/op.h"
#include "models/model.h"
#include "ops/lib/all.h"
#include "layouts/strategy.h"
#include "program/program.h"
#include "support/masters.h"
#include "train/optim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline const pl_graph *training_graph(const char *model, pl_arena *a)
{
    bool masters;
    const char *spec = spec_of(model, &masters);
    const pl_optim adamw = { .name = "adamw", .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1 };
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_model_parse(spec, a, &args, &err)) fail_msg("%s", err.msg);
    pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, PL_TRAIN);
    if (masters) pl_add_narrow_weights(&b);
    pl_optim_add(&b, &adamw, pl_graph_find(b.graph, "loss"));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s", err.msg);
    return g;
}

static inline const pl_plan *training_plan(const pl_graph *g, const char *text, int n, pl_arena *a)
{
    pl_strategy s;
    pl_plan *p = NULL;
    pl_err err = { 0 };
    if (!pl_strategy_parse(text, n, a, &s, &err) || !pl_strategy_plan(&s, g, NULL, a, &p, &err))
        fail_msg("%s: %s", text, err.msg);
    return p;
}

static inline const pl_program *training_program(const pl_plan *plan, int rank, int64_t ahead,
                                                 pl_arena *a)
{
    const pl_lower_options o = { .ahead_bytes = ahead };
    pl_program *p;
    pl_err err = { 0 };
    if (!pl_program_lower(plan, rank, pl_store_new(plan, rank, a), &o, a, &p, &err) ||
        !pl_program_check(p, &err))
        fail_msg("%s", err.msg);
    return p;
}

#endif
