/* pleat plan: the fastest way to split a model, or that of a strategy: its time, memory, messages,
 * and how far from the best it can be; nothing is run and no tensor has memory. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "plan/strategy.h"
#include "report/tell.h"
#include "report/why.h"
#include "train/optim.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TIMES = 64 };

typedef struct plan_args {
    pl_job_args job;
    const char *strategy, *file;
    bool json, full;
} plan_args;

#define AT(f) offsetof(plan_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "strategy",  TEXT(strategy),  "TEXT", "auto",  "how it is split; words below" },
    PL_JOB_OPTS,
    { "o",         TEXT(file),      "FILE", NULL,    "write the plan, for train --plan and show" },
    { "full",      FLAG(full),      NULL,   NULL,    "the whole plan instead, a line per node" },
    { "json",      FLAG(json),      NULL,   NULL,    "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static bool make_plan(const plan_args *a, const pl_job *j, pl_arena *arena, pl_best **best,
                      pl_err *err)
{
    pl_strategy s;
    pl_plan *plan;
    PL_TRY(pl_strategy_parse(a->strategy, j->cluster->n_devices, arena, &s, err));
    s.cluster = j->cluster;
    if (s.automatic)
        return pl_best_plan(j->graph, j->cluster, &j->options, &j->lower, arena, best, err);
    PL_TRY(pl_strategy_plan(&s, j->graph, NULL, arena, &plan, err));
    return pl_best_given(plan, j->cluster, j->options.memory, &j->lower, arena, best, err);
}

/* -- when nothing fits ------------------------------------------------------------------------- */

/* So many times as many of the outermost groups. */
static bool grow(const pl_cluster *c, int times, pl_arena *a, pl_cluster *out)
{
    pl_err why = { 0 };
    *out = *c;
    out->level = PL_NEW_N(a, pl_level, c->n_levels);
    out->part = PL_NEW_N(a, pl_part, c->n_parts + 1);
    memcpy(out->level, c->level, (size_t)c->n_levels * sizeof *c->level);
    for (int i = 0; i < c->n_parts; i++)
        out->part[i] = (pl_part){ c->part[i].class, c->part[i].count * times };
    out->level[c->n_levels - 1].size *= times;
    return pl_cluster_finish(out, a, &why);
}

/* Adds the smallest changes of those tried with which a plan fits: fewer rows, more devices. */
static void add_changes(const plan_args *a, const char *spec, const pl_job *j, pl_arena *arena,
                        pl_err *err)
{
    pl_text text = { .arena = arena };
    pl_err found = *err, why = { 0 };
    pl_job_args args = a->job;
    int64_t rows = pl_job_rows(j);
    for (args.sizes.batch = rows / 2; args.sizes.batch >= 1; args.sizes.batch /= 2) {
        pl_job less;
        pl_watch_tell(j->options.watch, "nothing fits: trying --batch", (int)args.sizes.batch,
                      (int)rows);
        if (!pl_job_open(&args, spec, arena, &less, &why)) break;
        if (!pl_best_fits(less.graph, j->cluster, &less.options, &less.lower)) continue;
        pl_text_add(&text, "; it fits with --batch %lld", (long long)args.sizes.batch);
        break;
    }
    for (int times = 2; times <= MOST_TIMES; times *= 2) {
        pl_cluster more;
        if (!grow(j->cluster, times, arena, &more)) break;
        pl_watch_tell(j->options.watch, "nothing fits: trying times the devices", times,
                      MOST_TIMES);
        if (!pl_best_fits(j->graph, &more, &j->options, &j->lower)) continue;
        pl_text_add(&text, "%s on %d such devices", text.n ? ", or" : "; it fits", more.n_devices);
        break;
    }
    pl_watch_tell(j->options.watch, NULL, 0, 0);
    *err = (pl_err){ 0 };
    pl_err_set(err, found.code, "%.1500s%s", found.msg, pl_text_get(&text));
}

/* -- all --------------------------------------------------------------------------------------- */

static bool write_file(const plan_args *a, const pl_job *j, const pl_best *b, pl_arena *arena,
                       pl_err *err)
{
    pl_text cluster = { .arena = arena }, text = { .arena = arena };
    pl_cluster_print(j->cluster, &cluster);
    const pl_plan_about about = { .model = j->model,
                                  .optimizer = j->optimizer,
                                  .cluster = pl_text_get(&cluster),
                                  .strategy = b->take->plan->strategy,
                                  .step_seconds = b->take->forecast.step_seconds,
                                  .bound_seconds = b->found ? b->found->bound : 0,
                                  .memory_bytes = (double)b->take->forecast.memory.peak };
    pl_plan_write(b->take->plan, &about, &text);
    return pl_file_save(a->file, text.at, text.n, err);
}

static const char *next_command(const plan_args *a, const pl_job *j, pl_arena *arena)
{
    if (a->file)
        return pl_arena_fmt(arena, "pleat train %s --plan %s --data FILE", j->model, a->file);
    return pl_arena_fmt(arena,
                        "the same with -o plan.json, then: pleat show plan.json -o plan.html");
}

/* One sentence; NULL where the search has nothing to say of what is taken. */
static const char *find_why(const pl_job *j, const pl_best *b, pl_arena *arena)
{
    pl_reason r;
    const pl_contender *about;
    pl_err none = { 0 };
    if (!b->found || j->cluster->n_devices == 1 ||
        !pl_why_open(b, j->cluster, &j->options, arena, &r, &about, &none) || about != b->take)
        return NULL;
    return pl_reason_sentence(&r, arena);
}

static bool show(const plan_args *a, const char *spec, pl_arena *arena, pl_err *err)
{
    pl_job j;
    pl_best *best;
    pl_text out = { .arena = arena };
    if (a->full && a->json) return pl_err_set(err, PL_EUSAGE, "--full is text: leave out --json");
    PL_TRY(pl_job_open(&a->job, spec, arena, &j, err));
    if (!make_plan(a, &j, arena, &best, err)) {
        if (err->code == PL_EINFEASIBLE) add_changes(a, spec, &j, arena, err);
        return false;
    }
    if (a->file) PL_TRY(write_file(a, &j, best, arena, err));
    pl_told told = { .model = j.model,
                     .graph = j.graph,
                     .cluster = j.cluster,
                     .best = best,
                     .why = find_why(&j, best, arena),
                     .next = next_command(a, &j, arena) };
    told.units = pl_job_units(&j, &told.n_units);
    if (a->full)
        pl_plan_print(best->take->plan, &out);
    else if (a->json)
        pl_tell_json(&told, &out);
    else
        pl_tell_text(&told, &out);
    fputs(pl_text_get(&out), stdout);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    plan_args a = { 0 };
    const char *spec;
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &spec, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("plan");
    bool ok = show(&a, spec, arena, &err);
    pl_arena_free(arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}

const pl_command pl_command_plan = {
    .name = "plan",
    .operands = "MODEL",
    .about = "the fastest way to split a model, or that of a strategy: time, memory, messages",
    .more = "example: pleat plan gpt2-xl --cluster 2x8xa100 --batch 64\n"
            "         pleat plan gpt2-xl --strategy tp=8,sp,zero=1 --cluster local:64 --batch 64",
    .opts = opts,
    .run = run,
};
