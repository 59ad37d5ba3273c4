/* report/trace.h - time lines of programs, forecast or measured, in the trace event format that
 * Perfetto and chrome://tracing read. */
#ifndef PL_REPORT_TRACE_H
#define PL_REPORT_TRACE_H
#include "program/forecast.h"

/* One run of a program; all is the caller's. Texts may hold anything. */
typedef struct pl_trace_line {
    const char *process;       /* its name: "device 0"                                           */
    const pl_program *program;
    const double *begin, *end; /* [n_steps] seconds                                              */
    double zero;               /* what is 0 in the trace, on the clock of begin and end          */
    const int64_t *live;       /* [n_steps] bytes of the work block in use: pl_forecast          */
} pl_trace_line;

/* The line of a forecast. */
pl_trace_line pl_trace_forecast(const char *process, const pl_program *p, const pl_forecast *f);

/* Each process of the n lines has a thread that computes, threads for each set of mesh axes that
 * messages pass over (as many as pass together), and a counter of the work memory in use. Times are
 * microseconds. One JSON object; the same lines give the same bytes.
 * Source: "Trace Event Format", the JSON object form, complete ("X") and counter ("C") events. */
void pl_trace_write(const char *model, int n, const pl_trace_line line[], pl_text *out);

#endif
