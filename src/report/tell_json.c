#include "graph/op.h"
#include "program/summary.h"
#include "report/tell.h"
#include "report/weights.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static json_t *mesh_json(const pl_mesh *m)
{
    json_t *list = json_array();
    for (int i = 0; i < m->n; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:i}", "axis", m->axis[i].name, "size", m->axis[i].size));
    return list;
}

static json_t *search_json(const pl_told *t)
{
    const pl_auto *x = t->best->search;
    if (!x) return json_pack("{s:s}", "method", "none");
    const pl_tables *tables = x->mesh[x->best].tables;
    bool blocks = tables->n_classes > 0;
    json_t *bound = x->bound > 0 ? json_real(x->bound) : json_null(),
           *gap = x->bound > 0 ? json_real(pl_told_gap(x)) : json_null();
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:f, s:f, s:o, s:o}", "method",
                     x->method ? x->method->name
                     : x->tied ? "tied"
                               : "exact",
                     "seconds", pl_auto_seconds(x), "programs_seconds",
                     t->best->seconds - pl_auto_seconds(x), "fold_seconds", x->fold_seconds,
                     "tables_seconds", x->tables_seconds, "solve_seconds", x->search_seconds,
                     "meshes", x->n, "unique_blocks", tables->n_classes, "block_instances",
                     blocks ? tables->copies : 0, "raw_candidates_log10", tables->raw,
                     "objective_seconds", x->seconds, "lower_bound_seconds", bound, "gap", gap);
}

static json_t *predicted_json(const pl_told *t)
{
    const pl_forecast *f = &t->best->take->forecast;
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:f, s:s, s:f}", "step_seconds", f->step_seconds,
                     "compute_seconds", f->compute_seconds, "comm_seconds", f->comm_seconds,
                     "exposed_comm_seconds", f->exposed_seconds, "comm_bytes",
                     (json_int_t)f->comm_bytes, "units_per_second",
                     (double)t->n_units / f->step_seconds, "units", t->units, "mfu",
                     pl_told_mfu(t));
}

static json_t *memory_json(const pl_told *t)
{
    const pl_forecast_memory *m = &t->best->take->forecast.memory;
    json_t *all =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "peak_bytes", (json_int_t)m->peak,
                  "weights", (json_int_t)m->weights, "gradients", (json_int_t)m->gradients,
                  "optimizer", (json_int_t)m->optimizer, "activations", (json_int_t)m->activations,
                  "transient", (json_int_t)m->transient, "buffers", (json_int_t)m->buffers);
    bool limited = isfinite(t->best->limit);
    json_object_set_new(all, "limit_bytes",
                        limited ? json_integer((json_int_t)t->best->limit) : json_null());
    json_object_set_new(all, "work_bytes",
                        json_integer((json_int_t)t->best->take->program->work_bytes));
    json_object_set_new(all, "work_bound_bytes",
                        json_integer((json_int_t)t->best->take->program->work_bound));
    return all;
}

static json_t *strategy_json(const pl_told *t)
{
    const pl_plan *p = t->best->take->plan;
    json_t *weights = json_array();
    pl_arena *tmp = pl_arena_new("tell");
    pl_weight_rows w = pl_weights_of(p, t->best->take->store, tmp);
    for (int i = 0; i < w.n; i++) {
        const pl_weights_row *r = &w.row[i];
        json_array_append_new(weights,
                              json_pack("{s:s, s:i, s:s, s:s, s:s, s:I}", "weight", r->name,
                                        "count", r->count, "shape", r->shape, "stored", r->stored,
                                        "used", r->used, "device_bytes", (json_int_t)r->bytes));
    }
    pl_arena_free(tmp);
    return json_pack("{s:s, s:o}", "name", p->strategy, "placements", weights);
}

static json_t *axes_json(const pl_mesh *m, unsigned axes)
{
    json_t *list = json_array();
    for (int i = 0; i < m->n; i++)
        if (axes >> i & 1) json_array_append_new(list, json_string(m->axis[i].name));
    return list;
}

static json_t *messages_json(const pl_told *t)
{
    json_t *list = json_array();
    pl_arena *tmp = pl_arena_new("tell");
    pl_summary s = { 0 };
    pl_summary_make(t->best->take->program, tmp, &s);
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:s, s:I, s:I, s:f}", "kind",
                                        pl_collective_name(r->collective), "axes",
                                        axes_json(&t->best->take->plan->mesh, r->axes), "tensor",
                                        r->told, "count", (json_int_t)r->count, "bytes",
                                        (json_int_t)r->bytes, "seconds", r->seconds));
    }
    pl_arena_free(tmp);
    return list;
}

/* Of the search's plan on a mesh the strategy is auto, with that mesh. */
static json_t *runners_up_json(const pl_told *t)
{
    json_t *list = json_array();
    for (int i = 1; i < t->best->n; i++) {
        const pl_candidate *k = &t->best->at[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:f, s:I, s:b}", "name", k->name, "strategy",
                            k->searched ? "auto" : k->name, "mesh", mesh_json(&k->plan->mesh),
                            "step_seconds", k->forecast.step_seconds, "peak_bytes",
                            (json_int_t)k->forecast.memory.peak, "fits", k->fits));
    }
    return list;
}

static json_t *refused_json(const pl_told *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->best->n_refused; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "strategy", t->best->refused[i].name,
                                              "why", t->best->refused[i].why));
    return list;
}

void pl_tell_json(const pl_told *t, pl_text *out)
{
    const pl_graph *g = t->graph;
    json_t *all = json_pack(
        "{s:s, s:{s:s, s:I, s:i, s:f}, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
        "pleat.report/1", "model", "name", g->name, "params", (json_int_t)pl_graph_params(g),
        "nodes", g->nodes.n, "flops", pl_graph_flops(g), "cluster", t->cluster->name, "mesh",
        mesh_json(&t->best->take->plan->mesh), "search", search_json(t), "predicted",
        predicted_json(t), "memory", memory_json(t), "strategy", strategy_json(t), "messages",
        messages_json(t), "runners_up", runners_up_json(t), "not_possible", refused_json(t));
    PL_ASSERT(all);
    if (t->why) json_object_set_new(all, "why", json_string(t->why));
    char *text = json_dumps(all, 0);
    PL_ASSERT(text);
    pl_text_add(out, "%s\n", text);
    free(text);
    json_decref(all);
}
