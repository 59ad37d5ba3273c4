/* test/models/built.h - a model's graph with initial weights and random inputs, to evaluate. */
#ifndef PL_TEST_BUILT_H
#define PL_TEST_BUILT_H
#include "models/model.h"

#include "../ops/eval.h"
#include "ops/lib/all.h"
#include "data/init.h"
#include "train/optim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void check_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g (+- %g)", a, b, tolerance);
}

static inline void parse_well(const char *spec, pl_arena *a, pl_model_args *args)
{
    pl_err err = { 0 };
    if (!pl_model_parse(spec, a, args, &err)) fail_msg("%s", err.msg);
}

static inline pl_graph *build(const char *spec, pl_mode mode, const char *optimizer, pl_arena *a)
{
    pl_model_args args;
    pl_graph *g;
    pl_err err = { 0 };
    parse_well(spec, a, &args);
    pl_builder b = pl_builder_new(a, &pl_ops_all, args.spec);
    pl_model_build(&b, &args, mode);
    const pl_optim o = { .name = optimizer,
                         .beta1 = 0.9,
                         .beta2 = 0.99,
                         .eps = 1e-8,
                         .clip = 1,
                         .momentum = 0.9,
                         .decay = 0.1 };
    if (optimizer) pl_optim_add(&b, &o, b.err.code ? NULL : pl_graph_find(b.graph, "loss"));
    if (!pl_builder_done(&b, &g, &err)) fail_msg("%s: %s", spec, err.msg);
    return g;
}

/* Initial weights, inputs by lot. */
static inline void feed(eval *e, int classes)
{
    for (int i = 0; i < e->graph->values.n; i++) {
        const pl_value *v = e->graph->values.at[i];
        pl_err err = { 0 };
        const pl_placement whole = { 0 };
        const pl_mesh one = { 0 };
        pl_port p = { .value = v, .shape = v->shape };
        const pl_region region = pl_region_of(&whole, &one, &v->shape, 0);
        p.region = &region;
        if (v->role == PL_STATE && !pl_init_fill(&p, &(pl_init){ .seed = 1 }, e->at[i], &err))
            fail_msg("%s", err.msg);
        if (v->role == PL_INPUT)
            eval_random(v->type, &v->shape, e->at[i], pl_rng_at(1, (uint64_t)i),
                        pl_type_is_float(v->type) ? -1 : 0,
                        pl_type_is_float(v->type) ? 1 : classes);
    }
}

static inline const float *state_of(const eval *e, const char *name)
{
    const pl_value *v = pl_graph_find(e->graph, name);
    if (!v) fail_msg("no state '%s'", name);
    return e->at[v->id];
}

/* y = w x + c with w [out, in], or [in, out] when `by_row`. */
static inline void dense(int n_in, int n_out, bool by_row, const float *w, const float *c,
                         const double *x, double *y)
{
    for (int o = 0; o < n_out; o++) {
        y[o] = c ? (double)c[o] : 0;
        for (int i = 0; i < n_in; i++)
            y[o] += (double)w[by_row ? i * n_out + o : o * n_in + i] * x[i];
    }
}

#endif
