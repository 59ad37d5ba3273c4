/* test/support/presets.h - plans by the text of a strategy, of built-in models, and what
 * they say. */
#ifndef PL_TEST_SUPPORT_PRESETS_H
#define PL_TEST_SUPPORT_PRESETS_H
#include "support/masters.h"
#include "support/expect.h"
#include "support/graphs.h"
#include "models/model.h"
#include "layouts/strategy.h"
#include "train/optim.h"
#include "support/volume.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline pl_strategy parse(const char *text, int n, pl_arena *a)
{
    pl_strategy s;
    pl_err err = { 0 };
    EXPECT(pl_strategy_parse(text, n, a, &s, &err), "%s", err.msg);
    return s;
}

static inline pl_plan *plan(const pl_graph *g, const char *text, int n, const pl_plan *like,
                            pl_arena *a)
{
    pl_strategy s = parse(text, n, a);
    pl_plan *p;
    pl_err err = { 0 };
    EXPECT(pl_strategy_plan(&s, g, like, a, &p, &err), "%s", err.msg);
    return p;
}

static inline const char *choice_text(const pl_plan *p, const char *node, pl_arena *a)
{
    pl_text t = { .arena = a };
    const pl_graph *g = p->graph;
    int i = 0;
    while (i < g->nodes.n && strcmp(g->nodes.at[i]->name, node)) i++;
    EXPECT(i < g->nodes.n, "no node '%s'", node);
    for (int k = 0; k < p->mesh.n; k++) {
        int f = p->choice[i].factor[k];
        if (f == PL_COPIED) continue;
        pl_text_add(&t, "%s%s=", t.n ? " " : "", p->mesh.axis[k].name);
        if (f >= 0)
            pl_text_add(&t, "%c", g->nodes.at[i]->sig->factor[f].letter);
        else
            pl_text_add(&t, "linear:%d", PL_LINEAR - f);
    }
    return pl_text_get(&t);
}

static inline const char *stored_text(const pl_plan *p, const char *name, pl_arena *a)
{
    const pl_value *v = pl_graph_find(p->graph, name);
    EXPECT(v, "no state '%s'", name);
    return pl_placement_text(a, &p->stored[v->id], &p->mesh, v->shape.rank);
}

/* The step of one of so many micro-batches, each of which has the rows that the spec says. */
static inline const pl_graph *make_micro(const char *spec, int64_t micro, double clip, pl_arena *a)
{
    pl_optim adamw = { "adamw", 0.9, 0.99, 1e-8, 0, 0.1, clip };
    pl_model_args args;
    pl_err err = { 0 };
    EXPECT(pl_model_parse(spec_of(spec, &adamw.masters), a, &args, &err), "%s", err.msg);
    pl_builder b = pl_optim_step(&args, &adamw, micro, a);
    return graph_done(&b);
}

static inline const pl_graph *make_clipped(const char *spec, pl_mode mode, double clip, pl_arena *a)
{
    pl_model_args args;
    pl_err err = { 0 };
    if (mode == PL_TRAIN) return make_micro(spec, 1, clip, a);
    EXPECT(pl_model_parse(spec, a, &args, &err), "%s", err.msg);
    pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, mode);
    return graph_done(&b);
}

static inline const pl_graph *make_model(const char *spec, pl_mode mode, pl_arena *a)
{
    return make_clipped(spec, mode, 0, a);
}

#define GPT2 "gpt2:layers=2,hidden=32,heads=4,seq=16,vocab=64,batch=8,dropout=0"

#endif
