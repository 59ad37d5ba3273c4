#include "graph/op.h"
#include "program/summary.h"
#include "report/ragged.h"
#include "report/stages.h"
#include "report/weights.h"

#include <math.h>

static void put_model(const pl_told *t, pl_json_out *out)
{
    const pl_graph *g = t->graph;
    PL_JSON_ROW(out, "model", "name", t->model, "params", pl_graph_params(g), "nodes", g->nodes.n,
                "flops", pl_graph_flops(g));
}

static void put_found(const pl_told *t, const pl_auto *x, pl_json_out *out)
{
    const pl_problem *problem = x->mesh[x->best].problem;
    const bool bounded = x->bound > 0;
    PL_JSON_PUT(out, "seconds", pl_auto_seconds(x), "programs_seconds",
                t->best->seconds - pl_auto_seconds(x), "fold_seconds", x->fold_seconds,
                "tables_seconds", x->tables_seconds, "solve_seconds", x->search_seconds, "meshes",
                x->n, "unique_blocks", problem->n_classes, "block_instances",
                problem->n_classes ? problem->copies : 0);
    PL_JSON_PUT(out, "raw_candidates_log10", problem->log10_plans, "objective_seconds", x->seconds,
                "lower_bound_seconds", bounded ? x->bound : NAN, "gap",
                bounded ? pl_told_gap(x) : NAN);
    pl_json_put_bool(out, "stopped", t->best->stopped);
    pl_json_put_bool(out, "mesh_searched", pl_told_searched(t));
}

static void put_search(const pl_told *t, pl_json_out *out)
{
    const pl_auto *x = t->best->search;
    pl_json_open(out, "search", PL_JSON_OBJECT);
    pl_json_put_text(out, "method",
                     !x          ? "none"
                     : x->method ? x->method->name
                     : x->tied   ? "tied"
                                 : "exact");
    if (x) put_found(t, x, out);
    pl_json_close(out);
}

static void put_ragged(const pl_told *t, pl_json_out *out)
{
    const pl_ragged r = pl_ragged_of(t->best->take, t->cluster);
    if (r.row)
        PL_JSON_ROW(out, "ragged", "row", r.row, "seconds", r.seconds, "aligned_row", r.fit,
                    "aligned_seconds", r.aligned);
    if (r.filled > 0)
        PL_JSON_ROW(out, "tiles", "flops", r.flops, "filled_flops", r.filled, "seconds", r.cut,
                    "whole_seconds", r.whole);
}

static void put_predicted(const pl_told *t, pl_json_out *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    pl_json_open(out, "predicted", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "step_seconds", f->step_seconds, "compute_seconds", f->compute_seconds,
                "recompute_seconds", f->again_seconds, "comm_seconds", f->comm_seconds,
                "exposed_comm_seconds", f->exposed_seconds, "comm_bytes", f->comm_bytes);
    PL_JSON_PUT(out, "host_copy_seconds", f->host_seconds, "host_copy_bytes", f->host_moved,
                "host_kernel_seconds", f->host_kernel_seconds, "launch_seconds", f->launch_seconds,
                "device_seconds", f->device_seconds);
    if (t->best->floor > 0) PL_JSON_PUT(out, "floor_seconds", t->best->floor);
    if (t->mean_seconds > 0) PL_JSON_PUT(out, "mean_step_seconds", t->mean_seconds);
    PL_JSON_PUT(out, "micro", t->graph->micro, "micro_seconds", f->micro_seconds);
    put_ragged(t, out);
    PL_JSON_PUT(out, "units_per_second", (double)t->n_units / f->step_seconds, "units", t->units,
                "mfu", pl_told_mfu(t));
    pl_json_close(out);
}

/* The limit is a whole number of bytes, or infinity. */
static void put_memory(const pl_told *t, pl_json_out *out)
{
    const pl_forecast_memory *m = &t->best->take->forecast.memory;
    const pl_program *p = t->best->take->program;
    pl_json_open(out, "memory", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "peak_bytes", m->peak, "weights", m->weights, "gradients", m->gradients,
                "optimizer", m->optimizer, "activations", m->activations, "transient", m->transient,
                "buffers", m->buffers, "limit_bytes",
                trunc(pl_candidate_limit(t->best, t->best->take)));
    PL_JSON_PUT(out, "work_bytes", p->work_bytes, "work_bound_bytes", p->work_bound, "host_bytes",
                m->host, "host_limit_bytes", trunc(t->best->host_limit));
    pl_json_close(out);
}

static void put_strategy(const pl_told *t, pl_json_out *out)
{
    const pl_plan *p = t->best->take->plan;
    const pl_weight_rows w = pl_weights_of(p, t->best->take->store, out->text->arena);
    pl_json_open(out, "strategy", PL_JSON_OBJECT);
    pl_json_put_text(out, "name", p->strategy);
    pl_json_open(out, "placements", PL_JSON_LIST);
    for (int i = 0; i < w.n; i++) {
        const pl_weights_row *r = &w.row[i];
        PL_JSON_ROW(out, NULL, "weight", r->name, "count", r->count, "shape", r->shape, "stored",
                    r->stored, "used", r->used, "device_bytes", r->bytes);
    }
    pl_json_close(out);
    pl_json_close(out);
}

static void put_messages(const pl_told *t, pl_json_out *out)
{
    pl_summary s = { 0 };
    pl_summary_fold_make(t->best->take->program, &t->best->take->forecast, out->text->arena, &s);
    pl_json_open(out, "messages", PL_JSON_LIST);
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "kind", pl_collective_name(r->collective));
        pl_mesh_write_axes(&t->best->take->plan->mesh, "axes", r->axes, out);
        PL_JSON_PUT(out, "tensor", r->told, "count", r->count, "bytes", r->bytes, "seconds",
                    r->seconds);
        pl_json_close(out);
    }
    pl_json_close(out);
}

/* Of the search's plan on a mesh the strategy is auto, with that mesh. */
static void put_others(const pl_found *b, pl_json_out *out)
{
    pl_json_open(out, "runners_up", PL_JSON_LIST);
    for (int i = 1; i < b->n; i++) {
        const pl_candidate *k = &b->at[i];
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        PL_JSON_PUT(out, "name", k->name, "strategy", k->searched ? k->plan->strategy : k->name);
        pl_mesh_write(&k->plan->mesh, out);
        PL_JSON_PUT(out, "step_seconds", k->forecast.step_seconds, "peak_bytes",
                    k->forecast.memory.peak, "fits", k->fits);
        pl_json_close(out);
    }
    pl_json_close(out);
    pl_json_open(out, "not_possible", PL_JSON_LIST);
    for (int i = 0; i < b->n_refused; i++) {
        PL_JSON_ROW(out, NULL, "strategy", b->refused[i].name, "why", b->refused[i].why);
    }
    pl_json_close(out);
}

/* Numbers of micro-batches; null: nothing fits, or nothing is faster than what was taken. */
static void put_tried(const pl_found *b, pl_json_out *out)
{
    pl_json_open(out, "tried_micro", PL_JSON_LIST);
    for (int i = 0; i < b->n_tried; i++)
        PL_JSON_ROW(out, NULL, "micro", b->tried[i].micro, "step_seconds",
                    isfinite(b->tried[i].seconds) ? b->tried[i].seconds : NAN, "fits",
                    b->tried[i].fits, "outlined", b->tried[i].outlined);
    pl_json_close(out);
}

void pl_tell_json(const pl_told *t, pl_text *text)
{
    pl_json_out out = { .text = text };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    pl_json_put_text(&out, "schema", "pleat.report/1");
    put_model(t, &out);
    pl_json_put_text(&out, "cluster", t->cluster->name);
    pl_mesh_write(&t->best->take->plan->mesh, &out);
    put_search(t, &out);
    put_predicted(t, &out);
    put_memory(t, &out);
    if (t->cache && *t->cache) PL_JSON_PUT(&out, "cache", t->cache);
    pl_plan_caches_write(t->n_caches, t->caches, &out);
    if (t->best->take->stages) pl_stages_json(t, &out);
    put_strategy(t, &out);
    put_messages(t, &out);
    put_others(t->best, &out);
    put_tried(t->best, &out);
    if (t->why) pl_json_put_text(&out, "why", t->why);
    pl_json_close(&out);
    pl_text_add(text, "\n");
}
