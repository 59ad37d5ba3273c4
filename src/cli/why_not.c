/* pleat why-not: a strategy beside the plan to take: what it costs more, and of what. */
#include "cli/commands.h"
#include "cli/job.h"
#include "train/optim.h"

#include <stdio.h>

typedef struct why_not_args {
    pl_job_args job;
    int64_t most;
    bool json;
} why_not_args;

#define AT(f) offsetof(why_not_args, f)
// clang-format off
static const pl_opt opts[] = {
    PL_JOB_OPTS,
    { "most", INT(most),  "N",  "12", "messages to list, those that differ most", 0, 1000 },
    { "json", FLAG(json), NULL, NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static bool compare(const why_not_args *a, const char *const operand[2], pl_arena *arena,
                    pl_err *err)
{
    pl_job job;
    pl_found *best;
    pl_text out = { .arena = arena };
    const pl_explain_options o = { (int)a->most, a->json, pl_job_columns() };
    PL_TRY(pl_job_args_open(&a->job, operand[0], arena, &job, err));
    PL_TRY(pl_job_find(&job, "auto", arena, &best, err));
    PL_TRY(pl_job_why_not(&job, best, operand[1], &o, &out, err));
    fputs(pl_text_get(&out), stdout);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    why_not_args a = { 0 };
    const char *operand[2];
    int n, code;
    pl_err err = { 0 };
    if (!pl_opt_parse(c, argc, argv, &a, 2, 2, operand, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("why not");
    bool ok = compare(&a, operand, arena, &err);
    pl_arena_free(arena);
    return ok ? PL_OK : pl_opt_fail(&err);
}

const pl_command pl_command_why_not = {
    .name = "why-not",
    .operands = "MODEL STRATEGY",
    .about = "a strategy beside the fastest plan: where its seconds and bytes go",
    .more = "example: pleat why-not gpt2-xl tp=8,zero=1 --cluster 2x8xa100 --batch 64",
    .opts = opts,
    .run = run,
};
