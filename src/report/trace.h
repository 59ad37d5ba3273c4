/* report/trace.h - the forecast time line of plans in the trace event format that Perfetto and
 * chrome://tracing read. */
#ifndef PL_REPORT_TRACE_H
#define PL_REPORT_TRACE_H
#include "report/html.h"

/* n >= 1 plans, each a process of the trace with a thread that computes, one for each set of mesh
 * axes that messages pass over, and a counter of the work memory in use. Times are microseconds of
 * one step. One JSON object; the same plans give the same bytes.
 * Source: "Trace Event Format", the JSON object form, complete ("X") and counter ("C") events. */
void pl_trace_write(int n, const pl_html_plan plan[], pl_text *out);

#endif
