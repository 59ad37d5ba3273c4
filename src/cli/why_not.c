/* pleat why-not: a strategy beside the plan to take: what it costs more, and of what. */
#include "cli/list.h"
#include "options/job.h"
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

static bool compare(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const why_not_args *a = args;
    pl_job job;
    pl_found *best;
    pl_text out = { .arena = arena };
    const pl_explain_options o = { (int)a->most, a->json, pl_job_columns() };
    (void)n;
    PL_TRY(pl_job_args_open(&a->job, operand[0], arena, &job, err));
    job.request.told = true;
    PL_TRY(pl_job_find(&job, "auto", arena, &best, err));
    PL_TRY(pl_job_why_not(&job, best, operand[1], &o, &out, err));
    fputs(pl_text_get(&out), stdout);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(why_not_args){ .job.decay = -1 }, 2, 2, compare);
}

const pl_command pl_command_why_not = {
    .name = "why-not",
    .operands = "MODEL STRATEGY",
    .about = "a strategy beside the fastest plan: where its seconds and bytes go",
    .more = "example: pleat why-not gpt2-xl tp=8,zero=1 --cluster 2x8xa100 --batch 64",
    .opts = opts,
    .run = run,
};
