/* The steps of programs as events: kernels in one row, messages in rows for each set of axes, and
 * the memory they use as a counter. */
#include "report/trace.h"

#include "graph/op.h"
#include "report/html_page.h"

#include <math.h>

enum { COMPUTE_ROW = 0 }; /* then those of messages, in the order of their first events */

typedef struct row {
    unsigned axes;
    int lane;
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
    pl_json_out out;
} writer;

/* Rounded to the digits that are written, so that what follows begins no earlier than what is
 * before it ends. */
static double microseconds(const writer *w, double seconds)
{
    return round(1e10 * (seconds - w->line->zero)) / 1e4;
}

static void open_event(writer *w, const char *phase, const char *name, const char *category)
{
    pl_json_open(&w->out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(&w->out, "ph", phase, "name", name);
    if (category) pl_json_put_text(&w->out, "cat", category);
    pl_json_put_int(&w->out, "pid", w->process);
}

static void close_event(writer *w)
{
    pl_json_close(&w->out); /* args */
    pl_json_close(&w->out);
}

/* Names of processes and threads. */
static void add_name(writer *w, const char *what, int at, const char *name)
{
    open_event(w, "M", what, NULL);
    pl_json_put_int(&w->out, "tid", at);
    pl_json_open(&w->out, "args", PL_JSON_OBJECT);
    pl_json_put_text(&w->out, "name", name);
    close_event(w);
}

static void name_row(writer *w, int at, const pl_step *x, int nth)
{
    const char *over = pl_summary_axes(w->tmp, &w->line->program->plan->mesh, x->axes);
    const bool between = pl_step_is_between(x);
    const char *name = !between ? pl_html_kind_name(pl_html_view_kind(x))
                                : pl_arena_fmt(w->tmp, "messages over %s", over);
    add_name(w, "thread_name", at, nth == 1 ? name : pl_arena_fmt(w->tmp, "%s (%d)", name, nth));
}

/* Perfetto drops an event that begins before the last one of its row has ended. */
static int find_row(writer *w, const pl_step *x, double begin, double end)
{
    int nth = 1;
    if (pl_step_is_compute(x)) return COMPUTE_ROW;
    for (int i = 0; i < w->rows.n; i++) {
        row *r = &w->rows.at[i];
        if (r->axes != x->axes || r->lane != pl_step_lane(x)) continue;
        if (r->end <= begin) {
            r->end = end;
            return COMPUTE_ROW + 1 + i;
        }
        nth++;
    }
    PL_PUSH(w->tmp, &w->rows, ((row){ x->axes, pl_step_lane(x), end }));
    name_row(w, COMPUTE_ROW + w->rows.n, x, nth);
    return COMPUTE_ROW + w->rows.n;
}

static void add_step(writer *w, int i)
{
    const pl_step *x = &w->line->program->step[i];
    const double begin = microseconds(w, w->line->begin[i]), end = microseconds(w, w->line->end[i]);
    const int at = find_row(w, x, begin, end);
    open_event(w, "X", x->label, pl_html_kind_name(pl_html_view_kind(x)));
    PL_JSON_PUT(&w->out, "tid", at, "ts", begin, "dur", round(1e4 * (end - begin)) / 1e4);
    pl_json_open(&w->out, "args", PL_JSON_OBJECT);
    if (x->kind == PL_MESSAGE)
        pl_json_put_int(&w->out, pl_step_is_host(x) ? "bytes" : "bytes received", x->bytes);
    else if (pl_step_is_kernel(x))
        pl_json_put_text(&w->out, "operator", x->share->node->op->name);
    close_event(w);
}

/* The counter changes with each step that computes; messages run beside them. */
static void add_memory(writer *w, int i)
{
    if (!pl_step_is_compute(&w->line->program->step[i])) return;
    open_event(w, "C", "work memory", NULL);
    pl_json_put_real(&w->out, "ts", microseconds(w, w->line->begin[i]));
    pl_json_open(&w->out, "args", PL_JSON_OBJECT);
    pl_json_put_int(&w->out, "bytes", w->line->live[i]);
    close_event(w);
}

static void add_line(writer *w, const pl_trace_line *line)
{
    w->line = line;
    w->process++;
    w->rows.n = 0;
    add_name(w, "process_name", COMPUTE_ROW, line->process);
    add_name(w, "thread_name", COMPUTE_ROW, "compute");
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
    writer w = { .process = -1, .tmp = pl_arena_new("trace"), .out.text = out };
    pl_json_open(&w.out, NULL, PL_JSON_OBJECT);
    pl_json_put_text(&w.out, "displayTimeUnit", "ms");
    PL_JSON_ROW(&w.out, "otherData", "model", model);
    pl_json_open_lines(&w.out, "traceEvents", PL_JSON_LIST);
    for (int i = 0; i < n; i++) add_line(&w, &line[i]);
    pl_json_close(&w.out);
    pl_json_close(&w.out);
    pl_text_add(out, "\n");
    pl_arena_free(w.tmp);
}
