/* Time lines as files: show writes forecasts, train what its ranks recorded. */
#include "cli/timeline.h"

#include <math.h>
#include <stdio.h>

bool pl_timeline_write(pl_output *file, const char *path, const char *model, int n,
                       const pl_trace_line line[], pl_err *err)
{
    pl_text trace = { .arena = pl_arena_new("time lines") };
    pl_trace_write(model, n, line, &trace);
    bool ok = pl_output_write(file, trace.at, trace.n, err);
    if (ok)
        fprintf(stderr, "%s: %s, for ui.perfetto.dev or chrome://tracing\n", path,
                pl_text_size(trace.arena, (double)trace.n));
    pl_arena_free(trace.arena);
    return ok;
}

/* -- a run ------------------------------------------------------------------------------------- */

typedef struct lines {
    pl_trace_line *at;
    int n, cap;
} lines;

/* When the first step of any of n devices began, on the clock that they share. */
static double find_begin(int n, const pl_train_record record[])
{
    double first = INFINITY;
    for (int r = 0; r < n; r++)
        for (int i = 0; i < record[r].times.program->n_steps; i++)
            first = fmin(first, record[r].times.begin[i]);
    return first;
}

static void add_measured(lines *l, int rank, const pl_train_times *x, double zero, pl_arena *tmp)
{
    pl_forecast f = { 0 };
    pl_forecast_memory_make(x->program, tmp, &f);
    const pl_trace_line line = { .process = pl_arena_fmt(tmp, "device %d", rank),
                                 .program = x->program,
                                 .begin = x->begin,
                                 .end = x->end,
                                 .zero = zero,
                                 .live = f.live };
    PL_PUSH(tmp, l, line);
}

static void add_forecast(lines *l, const pl_program *p, const pl_cluster *c, double begin,
                         pl_arena *tmp)
{
    const pl_speed speed = pl_speed_of(c);
    pl_forecast f;
    pl_forecast_make(p, &speed, tmp, &f);
    pl_trace_line line = pl_trace_forecast("forecast of device 0", p, &f);
    line.zero = -begin;
    PL_PUSH(tmp, l, line);
}

bool pl_timeline_write_run(pl_output *file, const char *path, const char *model, int n,
                           const pl_train_record record[], const pl_cluster *cluster, pl_err *err)
{
    if (!record->arena) {
        fprintf(stderr, "%s: not written: no step ran\n", path);
        return true;
    }
    lines l = { 0 };
    pl_arena *tmp = pl_arena_new("time lines of a run");
    const double zero = find_begin(n, record);
    for (int r = 0; r < n; r++) {
        add_measured(&l, r, &record[r].times, zero, tmp);
        if (r == 0 && cluster)
            add_forecast(&l, record->times.program, cluster, find_begin(1, record) - zero, tmp);
    }
    bool ok = pl_timeline_write(file, path, model, l.n, l.at, err);
    pl_arena_free(tmp);
    return ok;
}
