/* The steps of programs as events: kernels in one row, messages in rows for each set of axes, and
 * the memory they use as a counter. */
#include "report/trace.h"

#include "graph/json.h"
#include "graph/op.h"
#include "report/html_page.h"

#include <math.h>

enum { COMPUTE_ROW = 0 }; /* then those of messages, in the order of their first events */

typedef struct row {
    unsigned axes;
    double end; /* microseconds: of its last event so far */
} row;

typedef struct writer {
    const pl_trace_line *line;
    int process;
    struct {
        row *at;
        int n, cap;
    } rows; /* of the process */
    pl_arena *tmp;
    pl_text *out;
} writer;

/* Rounded to the digits that are written, so that what follows begins no earlier than what is
 * before it ends. */
static double microseconds(const writer *w, double seconds)
{
    return round(1e10 * (seconds - w->line->zero)) / 1e4;
}

static void begin_event(pl_text *out, const char *phase)
{
    pl_text_add(out, "%s\n{\"ph\": \"%s\", ", out->at[out->n - 1] == '[' ? "" : ",", phase);
}

/* Names of processes and threads. */
static void add_name(const writer *w, const char *what, int at, const char *name)
{
    begin_event(w->out, "M");
    pl_text_add(w->out, "\"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": ", what,
                w->process, at);
    pl_json_print_text(w->out, name);
    pl_text_add(w->out, "}}");
}

static void name_row(const writer *w, int at, unsigned axes, int nth)
{
    const char *over = pl_summary_axes(w->tmp, &w->line->program->plan->mesh, axes);
    add_name(w, "thread_name", at,
             nth == 1 ? pl_arena_fmt(w->tmp, "messages over %s", over)
                      : pl_arena_fmt(w->tmp, "messages over %s (%d)", over, nth));
}

/* Perfetto drops an event that begins before the last one of its row has ended. */
static int find_row(writer *w, const pl_step *x, double begin, double end)
{
    int nth = 1;
    if (x->kind != PL_MESSAGE) return COMPUTE_ROW;
    for (int i = 0; i < w->rows.n; i++) {
        row *r = &w->rows.at[i];
        if (r->axes != x->axes) continue;
        if (r->end <= begin) {
            r->end = end;
            return COMPUTE_ROW + 1 + i;
        }
        nth++;
    }
    PL_PUSH(w->tmp, &w->rows, ((row){ x->axes, end }));
    name_row(w, COMPUTE_ROW + w->rows.n, x->axes, nth);
    return COMPUTE_ROW + w->rows.n;
}

static void add_step(writer *w, int i)
{
    const pl_step *x = &w->line->program->step[i];
    const double begin = microseconds(w, w->line->begin[i]), end = microseconds(w, w->line->end[i]);
    const int at = find_row(w, x, begin, end);
    begin_event(w->out, "X");
    pl_text_add(w->out, "\"name\": ");
    pl_json_print_text(w->out, x->label);
    pl_text_add(w->out,
                ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.4f, \"dur\": %.4f, "
                "\"args\": {",
                pl_html_kind_name(pl_html_view_kind(x)), w->process, at, begin, end - begin);
    if (x->kind == PL_MESSAGE)
        pl_text_add(w->out, "\"bytes received\": %lld", (long long)x->bytes);
    else if (x->kind == PL_KERNEL)
        pl_text_add(w->out, "\"operator\": \"%s\"", x->share->node->op->name);
    pl_text_add(w->out, "}}");
}

/* The counter changes with each step that computes; messages run beside them. */
static void add_memory(const writer *w, int i)
{
    if (w->line->program->step[i].kind == PL_MESSAGE) return;
    begin_event(w->out, "C");
    pl_text_add(
        w->out,
        "\"name\": \"work memory\", \"pid\": %d, \"ts\": %.4f, \"args\": {\"bytes\": %lld}}",
        w->process, microseconds(w, w->line->begin[i]), (long long)w->line->live[i]);
}

static void add_line(writer *w, const pl_trace_line *line)
{
    w->line = line;
    if (line->process) {
        w->process++;
        w->rows.n = 0;
        add_name(w, "process_name", COMPUTE_ROW, line->process);
        add_name(w, "thread_name", COMPUTE_ROW, "compute");
    }
    for (int i = 0; i < line->program->n_steps; i++) {
        add_step(w, i);
        add_memory(w, i);
    }
}

pl_trace_line pl_trace_forecast(const char *process, const pl_program *p, const pl_forecast *f)
{
    return (pl_trace_line){
        .process = process, .program = p, .begin = f->begin, .end = f->end, .live = f->live
    };
}

void pl_trace_write(const char *model, int n, const pl_trace_line line[], pl_text *out)
{
    writer w = { .process = -1, .tmp = pl_arena_new("trace"), .out = out };
    pl_text_add(out, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"model\": ");
    pl_json_print_text(out, model);
    pl_text_add(out, "}, \"traceEvents\": [");
    for (int i = 0; i < n; i++) add_line(&w, &line[i]);
    pl_text_add(out, "\n]}\n");
    pl_arena_free(w.tmp);
}
