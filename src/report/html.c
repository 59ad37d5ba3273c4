/* The page: page.html, which draws, with the data in the place of its line "@data@". Here stands
 * what is in the data, in the order of the sections. */
#include "report/html.h"

#include "cluster/field.h"
#include "plan/stages.h"
#include "report/html_page.h"

#include <string.h>

/* -- one plan ---------------------------------------------------------------------------------- */

/* Of the steps that are drawn: the last micro-batch, or of a pipeline one by itself. */
static double last_seconds(const pl_html_plan *x)
{
    const pl_forecast *f = x->forecast;
    double last = 0;
    for (int i = 0; i < x->program->n_steps; i++)
        if (f->end[i] > last) last = f->end[i];
    return last;
}

/* When passes run: rows of [kind, stage, micro-batch, begin, end]. Of very many none are drawn. */
static void put_pipeline(const pl_html_plan *x, pl_json_out *out)
{
    enum { MOST_PASSES = 8000 };
    int n = 0;
    if (!x->stages) return;
    const pl_pipeline *order = x->plan->stages->order;
    const pl_pipeline_times *t = &x->stages->times;
    for (int r = 0; r < order->n_ranks; r++) n += order->row[r].n;
    pl_json_open(out, "pipeline", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "schedule", order->name, "stages", (int64_t)order->n_stages, "seconds",
                x->stages->step_seconds, "bubble", pl_pipeline_bubble(t));
    pl_json_open(out, "rows", PL_JSON_LIST);
    for (int r = 0; r < order->n_ranks && n <= MOST_PASSES; r++) {
        pl_json_open(out, NULL, PL_JSON_LIST);
        for (int i = 0; i < order->row[r].n; i++) {
            const pl_pass *p = &order->row[r].at[i];
            pl_json_open(out, NULL, PL_JSON_LIST);
            PL_JSON_PUT(out, NULL, (int)p->kind, NULL, p->stage, NULL, p->micro, NULL,
                        t->begin[r][i], NULL, t->end[r][i]);
            pl_json_close(out);
        }
        pl_json_close(out);
    }
    pl_json_close(out);
    pl_json_close(out);
}

static void put_head(const pl_html_view *v, pl_json_out *out)
{
    const pl_html_plan *x = v->in;
    const pl_forecast *f = x->forecast;
    const pl_forecast_memory *m = &f->memory;
    PL_JSON_PUT(out, "name", x->name, "model", x->model, "cluster", x->cluster, "strategy",
                x->strategy, "parameters", pl_graph_params(v->graph), "nodes", v->graph->nodes.n);
    pl_mesh_write(v->mesh, out);
    PL_JSON_PUT(out, "step_seconds", f->step_seconds, "compute_seconds", f->compute_seconds,
                "comm_seconds", f->comm_seconds, "exposed_seconds", f->exposed_seconds,
                "comm_bytes", f->comm_bytes, "limit_bytes", x->limit_bytes);
    PL_JSON_PUT(out, "micro", v->graph->micro, "last_seconds", last_seconds(x));
    PL_JSON_PUT(out, "host_bytes", m->host);
    PL_JSON_PUT(out, "n_units", x->n_units, "units", x->units ? x->units : "", "mfu", x->mfu);
    PL_JSON_PUT(out, "cache", x->cache ? x->cache : "");
    pl_plan_caches_write(x->n_caches, x->caches, out);
    PL_JSON_ROW(out, "memory", "weights", m->weights, "optimizer", m->optimizer, "gradients",
                m->gradients, "activations", m->activations, "buffers", m->buffers, "transient",
                m->transient, "sums", m->sums, "peak", m->peak);
}

static void put_messages(const pl_html_view *v, pl_arena *tmp, pl_json_out *out)
{
    pl_summary s;
    pl_summary_make(v->in->program, tmp, &s);
    pl_json_open(out, "messages", PL_JSON_OBJECT);
    PL_JSON_PUT(out, "bytes", s.message_bytes, "seconds", s.message_seconds);
    pl_json_open_lines(out, "rows", PL_JSON_LIST);
    for (int i = 0; i < s.n; i++) {
        const pl_summary_row *r = &s.row[i];
        const pl_step like = { .kind = PL_MESSAGE, .collective = r->collective };
        PL_JSON_ROW(out, NULL, "kind", (int)pl_html_view_kind(&like), "collective",
                    pl_collective_name(r->collective), "over",
                    pl_summary_axes(tmp, v->mesh, r->axes), "tensor", r->told, "count", r->count,
                    "bytes", r->bytes, "seconds", r->seconds);
    }
    pl_json_close(out);
    pl_json_close(out);
}

/* -- the cluster ------------------------------------------------------------------------------- */

static void put_figure(const char *of, const char *key, const char *value, const char *source,
                       pl_json_out *out)
{
    PL_JSON_ROW(out, NULL, "of", of, "key", key, "value", value, "source", source);
}

/* `row` is a class or a level, which pl_field_at reads only. */
static void put_fields(const char *of, const pl_field fields[], const void *row, pl_arena *tmp,
                       pl_json_out *out)
{
    for (const pl_field *f = fields; f->key; f++) {
        const pl_figure *x = pl_field_at(f, (void *)(uintptr_t)row);
        put_figure(of, f->key, pl_unit_text(tmp, f->unit, x->value), x->source, out);
    }
}

static void put_level(const pl_level *l, pl_arena *tmp, pl_json_out *out)
{
    const int n = l->link.n_points;
    put_figure(l->name, "size", pl_arena_fmt(tmp, "%d", l->size), "", out);
    if (n)
        put_figure(l->name, "messages", pl_arena_fmt(tmp, "%d measured times", n), l->curve_source,
                   out);
    put_fields(l->name, n ? pl_field_curved : pl_field_level, l, tmp, out);
}

static void put_devices(const pl_cluster *c, pl_arena *tmp, pl_json_out *out)
{
    pl_json_open(out, "devices", PL_JSON_OBJECT);
    pl_json_put_text(out, "name", c->name);
    pl_json_open_lines(out, "figures", PL_JSON_LIST);
    for (int i = 0; i < c->n_classes; i++)
        put_fields(c->class[i].name, pl_field_class, &c->class[i], tmp, out);
    for (int i = 0; i < c->n_levels; i++) put_level(&c->level[i], tmp, out);
    pl_json_close(out);
    pl_json_close(out);
}

/* -- pages ------------------------------------------------------------------------------------- */

static void put_plan(const pl_html_view *v, pl_arena *tmp, pl_json_out *out)
{
    const pl_program *p = v->in->program;
    pl_json_open_lines(out, NULL, PL_JSON_OBJECT);
    put_head(v, out);
    put_pipeline(v->in, out);
    pl_html_cut_put(v, "weights", &v->weights, tmp, out);
    pl_html_cut_put(v, "activations", &v->activations, tmp, out);
    pl_html_steps_put(v->in, tmp, out);
    pl_html_alive_put(p, v->in->forecast->peak_step, tmp, out);
    put_messages(v, tmp, out);
    if (v->in->devices) put_devices(v->in->devices, tmp, out);
    pl_json_close(out);
}

/* The template up to its data, and from there on. */
static const char *const *write_template(const char *const *line, pl_text *out)
{
    for (; *line && strcmp(*line, "@data@\n") != 0; line++) pl_text_span(out, *line, strlen(*line));
    return line;
}

static pl_json_out open_page(pl_text *text)
{
    pl_json_out out = { .text = text, .tight = true, .page = true };
    PL_ASSERT(*write_template(pl_html_template, text) != NULL);
    pl_json_open_lines(&out, NULL, PL_JSON_OBJECT);
    pl_json_open(&out, "kinds", PL_JSON_LIST);
    for (int k = 0; k < PL_HTML_KINDS; k++)
        pl_json_put_text(&out, NULL, pl_html_kind_name((pl_html_kind)k));
    pl_json_close(&out);
    return out;
}

static void close_page(pl_json_out *out)
{
    const char *const *line = pl_html_template;
    pl_json_close(out);
    pl_text_add(out->text, "\n");
    while (strcmp(*line++, "@data@\n") != 0) {
    }
    write_template(line, out->text);
}

void pl_html_write(int n, const pl_html_plan plan[], pl_text *text)
{
    PL_ASSERT_CMP(n, >=, 1);
    pl_arena *tmp = pl_arena_new("page");
    pl_html_view *view = PL_NEW_N(tmp, pl_html_view, n);
    pl_json_out out = open_page(text);
    pl_json_open_lines(&out, "plans", PL_JSON_LIST);
    for (int i = 0; i < n; i++) {
        pl_html_view_make(&view[i], &plan[i], tmp);
        put_plan(&view[i], tmp, &out);
    }
    pl_json_close(&out);
    if (n > 1) pl_html_compare_put(n, view, tmp, &out);
    close_page(&out);
    pl_arena_free(tmp);
}

static void put_order(const pl_html_order *x, pl_arena *tmp, pl_json_out *out)
{
    pl_forecast held;
    pl_forecast_memory_make(x->program, tmp, &held);
    pl_json_open_lines(out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(out, "name", x->name, "block", x->block, "peak", held.peak_step);
    pl_json_open(out, "live", PL_JSON_LIST);
    for (int i = 0; i < x->program->n_steps; i++) pl_json_put_int(out, NULL, held.live[i]);
    pl_json_close(out);
    if (x->program->n_steps) {
        pl_json_put_text(out, "label", x->program->step[held.peak_step].label);
        pl_html_alive_put(x->program, held.peak_step, tmp, out);
    }
    pl_json_close(out);
}

void pl_html_write_orders(const char *model, int n, const pl_html_order order[], int64_t bound,
                          pl_text *text)
{
    PL_ASSERT_CMP(n, >=, 1);
    pl_arena *tmp = pl_arena_new("page of orders");
    pl_json_out out = open_page(text);
    PL_JSON_PUT(&out, "model", model, "states", order[0].program->store->bytes, "bound", bound);
    pl_json_open_lines(&out, "orders", PL_JSON_LIST);
    for (int k = 0; k < n; k++) put_order(&order[k], tmp, &out);
    pl_json_close(&out);
    close_page(&out);
    pl_arena_free(tmp);
}
