/* pleat show: plan files as one offline page. */
#include "base/output.h"
#include "cli/list.h"
#include "options/job.h"
#include "cli/timeline.h"
#include "report/html.h"
#include "report/tell.h"
#include "train/optim.h"

#include <math.h>
#include <stdio.h>

typedef struct show_args {
    pl_job_args job;
    const char *file, *trace;
} show_args;

#define AT(f) offsetof(show_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "o",             PATH(file),           "FILE", "plan.html", "the page" },
    { "trace",         PATH(trace),          "FILE", NULL, "the time lines, for Perfetto" },
    PL_LOWER_OPTS(job.request, ""),
    { 0 },
};
// clang-format on

static bool read_plan(const show_args *a, const char *path, pl_arena *arena, pl_html_plan *out,
                      pl_err *err)
{
    pl_job j;
    pl_plan *plan;
    pl_found *b;
    pl_plan_about about;
    PL_TRY(pl_job_args_read(&a->job, path, arena, &j, &plan, &about, err));
    j.request.whole = true; /* all of its steps are drawn */
    PL_TRY(pl_plan_forecast(&j.request, plan, arena, &b, err));
    *out = (pl_html_plan){ .name = path,
                           .model = j.args.spec,
                           .cluster = j.request.cluster->name,
                           .strategy = plan->strategy,
                           .plan = plan,
                           .program = b->take->program,
                           .forecast = &b->take->forecast,
                           .stages = b->take->stages,
                           .limit_bytes = isfinite(b->limit) ? pl_candidate_limit(b, b->take) : 0,
                           .cache = j.cache,
                           .n_caches = j.n_caches,
                           .caches = j.caches,
                           .devices = j.request.cluster };
    out->units = pl_job_units(&j, &out->n_units);
    const pl_told told = { .graph = j.graph, .cluster = j.request.cluster, .best = b };
    out->mfu = pl_told_mfu(&told);
    return true;
}

static bool write_trace(const show_args *a, pl_output *file, int n, const pl_html_plan plan[],
                        pl_arena *arena, pl_err *err)
{
    pl_trace_line line[PL_OPT_OPERANDS];
    for (int i = 0; i < n; i++) {
        const pl_html_plan *x = &plan[i];
        const char *name = pl_arena_fmt(arena, "%s: %s on %s", x->name, x->strategy, x->cluster);
        line[i] = pl_trace_forecast(name, x->program, x->forecast);
    }
    return pl_timeline_write(file, a->trace, plan[0].model, n, line, err);
}

static bool show(void *args, int n, const char *const path[], pl_arena *arena, pl_err *err)
{
    const show_args *a = args;
    pl_html_plan plan[PL_OPT_OPERANDS];
    pl_text page = { .arena = arena };
    pl_output file, trace;
    PL_TRY(pl_output_open(a->file, arena, &file, err));
    if (a->trace) PL_TRY(pl_output_open(a->trace, arena, &trace, err));
    for (int i = 0; i < n; i++) PL_TRY(read_plan(a, path[i], arena, &plan[i], err));
    pl_html_write(n, plan, &page);
    PL_TRY(pl_output_write(&file, page.at, page.n, err));
    fprintf(stderr, "%s: %d plan%s, %s\n", a->file, n, n == 1 ? "" : "s",
            pl_text_size(arena, (double)page.n));
    return !a->trace || write_trace(a, &trace, n, plan, arena, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(show_args){ 0 }, 1, PL_OPT_OPERANDS, show);
}

const pl_command pl_command_show = {
    .name = "show",
    .operands = "PLAN...",
    .about = "one offline page about plans: sharding, time line, memory, messages, comparison",
    .more = "example: pleat plan gpt2 --cluster 8xa100 --batch 32 -o auto.json\n"
            "         pleat plan gpt2 --cluster 8xa100 --batch 32 --strategy zero=3 -o zero.json\n"
            "         pleat show auto.json zero.json -o plans.html",
    .opts = opts,
    .run = run,
};
