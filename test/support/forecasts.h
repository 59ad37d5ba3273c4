/* test/support/forecasts.h - programs to forecast: of any plan, and of published layouts. */
#ifndef PL_TEST_SUPPORT_FORECASTS_H
#define PL_TEST_SUPPORT_FORECASTS_H
#include "support/presets.h"
#include "support/plans.h"
#include "program/forecast.h"

static inline const pl_program *lower(const pl_plan *p, int rank, const pl_lower_options *o,
                                      pl_arena *a)
{
    pl_program *q = NULL;
    pl_err err = { 0 };
    bool ok = pl_program_lower(p, rank, pl_store_new(p, rank, a), o, a, &q, &err) &&
              pl_program_check(q, &err);
    EXPECT(ok, "%s, rank %d: %s", p->strategy, rank, err.msg);
    return q;
}

/* A device on which each of the prices matters. */
static inline pl_speed speed_of(double hidden)
{
    pl_speed s = { .stream = 4e9, .start = 1e-6, .hidden = hidden, .host_hidden = 0.75,
                   .host_stream = 3e9 };
    for (int t = 0; t < PL_N_TYPES; t++) s.flops[t] = 2e9;
    return s;
}

/* Axes are slower the later they come; copies are what they are. */
static inline void set_links(pl_plan *p, double latency, double per_byte)
{
    for (int i = 0; i < p->mesh.n; i++)
        p->mesh.axis[i].latency = latency * (i + 1), p->mesh.axis[i].per_byte = per_byte * (i + 1);
    p->mesh.copy_start = 1e-6, p->mesh.copy_per_byte = 0.5e-9;
    p->mesh.host_per_byte = 2 * per_byte;
}

/* Two convolutions, of windows that overlap, and a step of training. */
static inline const pl_graph *make_images(pl_arena *a, int64_t rows)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "images");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(2, 3, rows, 5));
    pl_value *w = weight(&b, "w", PL_SHAPE(4, 3, 3, 3)), *v = weight(&b, "v", PL_SHAPE(2, 4, 3, 3));
    const char *spec = "; stride=1,1 dilation=1,1 pad=1,1";
    pl_value *y = PL_ADD_AS(&b, &pl_op_relu, "act", NULL, PL_ADD(&b, &pl_op_conv2d, spec, x, w));
    y = PL_ADD(&b, &pl_op_conv2d, spec, y, v);
    pl_value *loss = PL_ADD_AS(&b, &pl_op_einsum, "loss", "ncyx,ncyx->", y, y);
    add_sgd(&b, loss, 2, (pl_value *const[]){ w, v });
    pl_add_output(&b, "loss", loss);
    return graph_done(&b);
}

static inline void split_rows(pl_plan *p)
{
    for (int i = 0; i < p->graph->nodes.n; i++) {
        const pl_node *n = p->graph->nodes.at[i];
        for (int a = 0; a < p->mesh.n && n->sig->n_windows; a++) {
            int8_t *f = &p->choice[i].factor[a], was = *f;
            pl_err why = { 0 };
            *f = (int8_t)n->sig->window[0].position;
            if (!pl_plan_check_node(p, n, &why)) *f = was;
        }
    }
}

static inline const pl_graph *graph_by_lot(uint64_t seed, lot *l, pl_arena *a)
{
    int64_t size = 4 + lot_below(l, 10);
    switch (lot_below(l, 10)) {
    case 0: return make_mlp(a, size);
    case 1: return make_tied(a, size);
    case 2: return make_hazards(a, size);
    case 3:
    case 4: return make_images(a, size);
    default: return make_random(a, seed);
    }
}

/* One program of a random plan, with any options. `first`: of rank 0, else of any. *reuse: its
 * buffers share memory. */
static inline const pl_program *program_by_lot(uint64_t seed, bool first, bool *reuse, pl_arena *a)
{
    static const int meshes[][4] = { { 2 },    { 3 },    { 4 },    { 2, 2 },    { 2, 1, 2 },
                                     { 2, 3 }, { 4, 2 }, { 1 },    { 2, 2, 2 }, { 5 } };
    static const pl_lower_options options[] = {
        { 0 }, { .bucket_bytes = 1 }, { .bucket_bytes = 100 }, { .ahead_bytes = -1 },
        { .step_bytes = 1 }, { .no_reuse = true }, { .order = PL_ORDER_PLEAT },
    };
    lot l = { .rng = pl_rng_at(seed, 6) };
    pl_mesh m = mesh_of(meshes[lot_below(&l, sizeof meshes / sizeof *meshes)]);
    pl_plan *p = plan_by_lot(graph_by_lot(seed, &l, a), &m, seed, 1 + lot_below(&l, 3), a);
    const pl_lower_options *o = &options[lot_below(&l, sizeof options / sizeof *options)];
    split_rows(p);
    set_links(p, 1e-6, 1e-9);
    *reuse = !o->no_reuse;
    return lower(p, first ? 0 : lot_below(&l, pl_mesh_ranks(&m)), o, a);
}

typedef struct preset {
    const char *strategy;
    int n;
    pl_lower_options options;
} preset;

static const preset presets[] = {
    { "dp", 1, { 0 } },
    { "dp", 2, { .bucket_bytes = 1 } },
    { "dp", 8, { .bucket_bytes = 8192 } },
    { "tp=2", 4, { 0 } },
    { "tp=4,sp", 4, { 0 } },
    { "zero=1", 4, { .bucket_bytes = 4096 } },
    { "zero=3", 4, { .ahead_bytes = 4096 } },
    { "zero=3", 2, { .step_bytes = 1 } },
    { "zero=3,tp=2", 8, { 0 } },
    { "tp=2d:2x2", 4, { 0 } },
    { "tp=2d:2x2", 8, { .step_bytes = 1 } },
    { "tp=2.5d:2x2x2", 8, { 0 } },
    { "tp=3d:2x2x2", 8, { 0 } },
};

enum { N_PRESETS = sizeof presets / sizeof *presets };

static inline const pl_program *program_of(const preset *x, const pl_graph *g, pl_arena *a)
{
    pl_plan *p = plan(g, x->strategy, x->n, NULL, a);
    set_links(p, 1e-6, 1e-9);
    return lower(p, 0, &x->options, a);
}

#endif
