/* pleat explain: what a plan does with one operator or tensor, and what else it could do. */
#include "cli/list.h"
#include "options/job.h"
#include "train/optim.h"

#include <stdio.h>

typedef struct explain_args {
    pl_job_args job;
    int64_t most;
    bool json;
} explain_args;

#define AT(f) offsetof(explain_args, f)
// clang-format off
static const pl_opt opts[] = {
    PL_JOB_OPTS,
    { "most", INT(most),  "N",  "8",  "other choices to list", 0, 1000 },
    { "json", FLAG(json), NULL, NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static bool explain(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const explain_args *a = args;
    pl_job job;
    pl_found *best;
    const char *note;
    pl_text out = { .arena = arena };
    const pl_explain_options o = { (int)a->most, a->json, pl_job_columns() };
    (void)n;
    PL_TRY(pl_job_args_open(&a->job, operand[0], arena, &job, err));
    PL_TRY(pl_job_knows(&job, operand[1], arena, err));
    job.request.told = true;
    PL_TRY(pl_job_find(&job, "auto", arena, &best, err));
    PL_TRY(pl_job_explain(&job, best, operand[1], &o, &out, &note, err));
    if (note) fprintf(stderr, "note: %s\n", note);
    fputs(pl_text_get(&out), stdout);
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(explain_args){ .job.decay = -1 }, 2, 2, explain);
}

const pl_command pl_command_explain = {
    .name = "explain",
    .operands = "MODEL NAME",
    .about = "what the plan to take does with an operator or tensor, and what else it could do",
    .more =
        "NAME is an operator or tensor of 'pleat graph MODEL --text'; of equal blocks any one, or\n"
        "all of them with * for what differs.\n"
        "example: pleat explain gpt2 'h.*.attn.qkv' --cluster 2x8xv100 --batch 64",
    .opts = opts,
    .run = run,
};
