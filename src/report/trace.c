/* The steps of a program as events: kernels in one row, messages in a row for each set of axes, as
 * the forecast has them, and the memory they use as a counter. */
#include "report/trace.h"

#include "graph/json.h"
#include "graph/op.h"
#include "report/html_page.h"

enum { COMPUTE_ROW = 0 }; /* messages over a set of axes are in the row of its bits */

static double microseconds(double seconds)
{
    return 1e6 * seconds;
}

static void begin_event(pl_text *out, const char *phase)
{
    pl_text_add(out, "%s\n{\"ph\": \"%s\", ", out->at[out->n - 1] == '[' ? "" : ",", phase);
}

/* Names of processes and threads. */
static void add_name(pl_text *out, const char *what, int process, unsigned row, const char *name)
{
    begin_event(out, "M");
    pl_text_add(out, "\"name\": \"%s\", \"pid\": %d, \"tid\": %u, \"args\": {\"name\": ", what,
                process, row);
    pl_json_print_text(out, name);
    pl_text_add(out, "}}");
}

static void add_names(const pl_html_view *v, pl_arena *tmp, pl_text *out)
{
    bool used[1 << PL_MAX_AXES] = { 0 };
    const pl_html_plan *x = v->in;
    add_name(out, "process_name", v->index, COMPUTE_ROW,
             pl_arena_fmt(tmp, "%s: %s on %s", x->name, x->strategy, x->cluster));
    add_name(out, "thread_name", v->index, COMPUTE_ROW, "compute");
    for (int i = 0; i < x->program->n_steps; i++)
        if (x->program->step[i].kind == PL_MESSAGE) used[x->program->step[i].axes] = true;
    for (unsigned axes = 1; axes < 1u << v->mesh->n; axes++)
        if (used[axes])
            add_name(out, "thread_name", v->index, axes,
                     pl_arena_fmt(tmp, "messages over %s", pl_summary_axes(tmp, v->mesh, axes)));
}

static void add_step(const pl_html_view *v, int i, pl_text *out)
{
    const pl_step *x = &v->in->program->step[i];
    const pl_forecast *f = v->in->forecast;
    begin_event(out, "X");
    pl_text_add(out, "\"name\": ");
    pl_json_print_text(out, x->label);
    pl_text_add(out,
                ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %u, \"ts\": %.4f, \"dur\": %.4f, "
                "\"args\": {",
                pl_html_kind_name(pl_html_view_kind(v, x)), v->index,
                x->kind == PL_MESSAGE ? x->axes : COMPUTE_ROW, microseconds(f->begin[i]),
                microseconds(f->end[i] - f->begin[i]));
    if (x->kind == PL_MESSAGE)
        pl_text_add(out, "\"bytes received\": %lld", (long long)x->bytes);
    else if (x->kind == PL_KERNEL)
        pl_text_add(out, "\"operator\": \"%s\"", x->share->node->op->name);
    pl_text_add(out, "}}");
}

/* The counter changes with each step that computes; messages run beside them. */
static void add_memory(const pl_html_view *v, int i, pl_text *out)
{
    const pl_forecast *f = v->in->forecast;
    if (v->in->program->step[i].kind == PL_MESSAGE) return;
    begin_event(out, "C");
    pl_text_add(
        out, "\"name\": \"work memory\", \"pid\": %d, \"ts\": %.4f, \"args\": {\"bytes\": %lld}}",
        v->index, microseconds(f->begin[i]), (long long)f->live[i]);
}

void pl_trace_write(int n, const pl_html_plan plan[], pl_text *out)
{
    pl_arena *tmp = pl_arena_new("trace");
    pl_text_add(out, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"model\": ");
    pl_json_print_text(out, plan[0].model);
    pl_text_add(out, "}, \"traceEvents\": [");
    for (int p = 0; p < n; p++) {
        pl_html_view v;
        pl_html_view_make(&v, &plan[p], p, tmp);
        add_names(&v, tmp, out);
        for (int i = 0; i < plan[p].program->n_steps; i++) {
            add_step(&v, i, out);
            add_memory(&v, i, out);
        }
    }
    pl_text_add(out, "\n]}\n");
    pl_arena_free(tmp);
}
