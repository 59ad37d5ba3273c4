#include "graph/op.h"
#include "program/summary.h"
#include "report/tell.h"
#include "report/weights.h"

#include <math.h>

static void put_model(const pl_graph *g, pl_json_out *out)
{
    pl_json_open(out, "model", PL_JSON_OBJECT);
    pl_json_put_text(out, "name", g->name);
    pl_json_put_int(out, "params", pl_graph_params(g));
    pl_json_put_int(out, "nodes", g->nodes.n);
    pl_json_put_real(out, "flops", pl_graph_flops(g));
    pl_json_close(out);
}

static void put_found(const pl_told *t, const pl_auto *x, pl_json_out *out)
{
    const pl_tables *tables = x->mesh[x->best].tables;
    const bool bounded = x->bound > 0;
    pl_json_put_real(out, "seconds", pl_auto_seconds(x));
    pl_json_put_real(out, "programs_seconds", t->best->seconds - pl_auto_seconds(x));
    pl_json_put_real(out, "fold_seconds", x->fold_seconds);
    pl_json_put_real(out, "tables_seconds", x->tables_seconds);
    pl_json_put_real(out, "solve_seconds", x->search_seconds);
    pl_json_put_int(out, "meshes", x->n);
    pl_json_put_int(out, "unique_blocks", tables->n_classes);
    pl_json_put_int(out, "block_instances", tables->n_classes ? tables->copies : 0);
    pl_json_put_real(out, "raw_candidates_log10", tables->raw);
    pl_json_put_real(out, "objective_seconds", x->seconds);
    pl_json_put_real(out, "lower_bound_seconds", bounded ? x->bound : NAN);
    pl_json_put_real(out, "gap", bounded ? pl_told_gap(x) : NAN);
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

static void put_predicted(const pl_told *t, pl_json_out *out)
{
    const pl_forecast *f = &t->best->take->forecast;
    pl_json_open(out, "predicted", PL_JSON_OBJECT);
    pl_json_put_real(out, "step_seconds", f->step_seconds);
    pl_json_put_real(out, "compute_seconds", f->compute_seconds);
    pl_json_put_real(out, "comm_seconds", f->comm_seconds);
    pl_json_put_real(out, "exposed_comm_seconds", f->exposed_seconds);
    pl_json_put_int(out, "comm_bytes", f->comm_bytes);
    pl_json_put_real(out, "units_per_second", (double)t->n_units / f->step_seconds);
    pl_json_put_text(out, "units", t->units);
    pl_json_put_real(out, "mfu", pl_told_mfu(t));
    pl_json_close(out);
}

/* The limit is a whole number of bytes, or infinity. */
static void put_memory(const pl_told *t, pl_json_out *out)
{
    const pl_forecast_memory *m = &t->best->take->forecast.memory;
    const pl_program *p = t->best->take->program;
    pl_json_open(out, "memory", PL_JSON_OBJECT);
    pl_json_put_int(out, "peak_bytes", m->peak);
    pl_json_put_int(out, "weights", m->weights);
    pl_json_put_int(out, "gradients", m->gradients);
    pl_json_put_int(out, "optimizer", m->optimizer);
    pl_json_put_int(out, "activations", m->activations);
    pl_json_put_int(out, "transient", m->transient);
    pl_json_put_int(out, "buffers", m->buffers);
    pl_json_put_real(out, "limit_bytes", trunc(t->best->limit));
    pl_json_put_int(out, "work_bytes", p->work_bytes);
    pl_json_put_int(out, "work_bound_bytes", p->work_bound);
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
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "weight", r->name);
        pl_json_put_int(out, "count", r->count);
        pl_json_put_text(out, "shape", r->shape);
        pl_json_put_text(out, "stored", r->stored);
        pl_json_put_text(out, "used", r->used);
        pl_json_put_int(out, "device_bytes", r->bytes);
        pl_json_close(out);
    }
    pl_json_close(out);
    pl_json_close(out);
}

static void put_messages(const pl_told *t, pl_json_out *out)
{
    pl_summary s = { 0 };
    pl_summary_make(t->best->take->program, out->text->arena, &s);
    pl_json_open(out, "messages", PL_JSON_LIST);
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "kind", pl_collective_name(r->collective));
        pl_mesh_write_axes(&t->best->take->plan->mesh, "axes", r->axes, out);
        pl_json_put_text(out, "tensor", r->told);
        pl_json_put_int(out, "count", r->count);
        pl_json_put_int(out, "bytes", r->bytes);
        pl_json_put_real(out, "seconds", r->seconds);
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
        pl_json_put_text(out, "name", k->name);
        pl_json_put_text(out, "strategy", k->searched ? "auto" : k->name);
        pl_mesh_write(&k->plan->mesh, out);
        pl_json_put_real(out, "step_seconds", k->forecast.step_seconds);
        pl_json_put_int(out, "peak_bytes", k->forecast.memory.peak);
        pl_json_put_bool(out, "fits", k->fits);
        pl_json_close(out);
    }
    pl_json_close(out);
    pl_json_open(out, "not_possible", PL_JSON_LIST);
    for (int i = 0; i < b->n_refused; i++) {
        pl_json_open(out, NULL, PL_JSON_OBJECT);
        pl_json_put_text(out, "strategy", b->refused[i].name);
        pl_json_put_text(out, "why", b->refused[i].why);
        pl_json_close(out);
    }
    pl_json_close(out);
}

void pl_tell_json(const pl_told *t, pl_text *text)
{
    pl_json_out out = { .text = text };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    pl_json_put_text(&out, "schema", "pleat.report/1");
    put_model(t->graph, &out);
    pl_json_put_text(&out, "cluster", t->cluster->name);
    pl_mesh_write(&t->best->take->plan->mesh, &out);
    put_search(t, &out);
    put_predicted(t, &out);
    put_memory(t, &out);
    put_strategy(t, &out);
    put_messages(t, &out);
    put_others(t->best, &out);
    if (t->why) pl_json_put_text(&out, "why", t->why);
    pl_json_close(&out);
    pl_text_add(text, "\n");
}
