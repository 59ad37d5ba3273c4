/* pleat plan: the fastest way to split a model, or that of a strategy: its time, memory, messages,
 * and how far from the best it can be; nothing is run and no tensor has memory. */
#include "api/caches.h"
#include "base/output.h"
#include "cli/changes.h"
#include "cli/list.h"
#include "options/job.h"
#include "report/tell.h"
#include "cost/text.h"
#include "train/optim.h"

#include <stdio.h>
#include <string.h>

typedef struct plan_args {
    pl_job_args job;
    const char *strategy, *file, *problem;
    bool json, full;
    int argc; /* the arguments as they were given */
    char **argv;
} plan_args;

#define AT(f) offsetof(plan_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "strategy",  TEXT(strategy),  "TEXT", "auto",  "how it is split; words below" },
    PL_JOB_OPTS,
    { "o",         PATH(file),      "FILE", NULL,    "write the plan, for train --plan and show" },
    { "problem",   PATH(problem),   "FILE", NULL,    "write the search's problem, of its best mesh",
      .needs = "strategy=auto" },
    PL_CACHE_PLAN_OPTS(job.cache),
    { "full",      FLAG(full),      NULL,   NULL,    "the whole plan instead, a line per node",
      .needs = "!json" },
    { "json",      FLAG(json),      NULL,   NULL,    "one JSON object on stdout" },
    { 0 },
};
// clang-format on

/* -- all --------------------------------------------------------------------------------------- */

static bool write_file(pl_output *file, const pl_job *j, const pl_found *b, pl_arena *arena,
                       pl_err *err)
{
    pl_text text = { .arena = arena };
    pl_job_write(j, b, &text);
    return pl_output_write(file, text.at, text.n, err);
}

/* The least sum that was sought, as text: it can be searched again without the model. */
static bool write_problem(pl_output *file, const pl_found *b, pl_arena *arena, pl_err *err)
{
    pl_text text = { .arena = arena };
    pl_problem_print(b->search->mesh[b->search->best].problem, &text);
    return pl_output_write(file, text.at, text.n, err);
}

/* A word of a command as a shell reads it. */
static void add_word(pl_text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    pl_text_add(t, t->n ? " " : "");
    if (*word && strspn(word, plain) == strlen(word)) {
        pl_text_add(t, "%s", word);
        return;
    }
    pl_text_add(t, "'");
    for (; *word; word++) pl_text_add(t, *word == '\'' ? "'\\''" : "%c", *word);
    pl_text_add(t, "'");
}

static void add_words(pl_text *t, int n, const char *const word[])
{
    for (int i = 0; i < n; i++) add_word(t, word[i]);
}

static const char *page_of(const char *file, pl_arena *arena)
{
    const size_t n = strlen(file), m = strlen(".json");
    const bool ends = n > m && !strcmp(file + n - m, ".json");
    return pl_arena_fmt(arena, "%.*s.html", (int)(ends ? n - m : n), file);
}

/* Are its devices ranks of a machine like this one, and not GPUs, which nothing here can run? */
static bool is_runnable(const pl_cluster *c)
{
    const char *name = c->class[0].name;
    return c->n_classes == 1 && (!strcmp(name, "local") || !strcmp(name, "cpu"));
}

static void add_numbers(pl_text *t, const pl_plan_numbers *x)
{
    const char *decay = pl_arena_fmt(t->arena, "%g", PL_OPTIM_DECAY);
    if (x->unclipped) add_words(t, 2, (const char *[]){ "--clip", "0" });
    if (x->no_momentum) add_words(t, 2, (const char *[]){ "--momentum", "0" });
    if (x->undecayed) add_words(t, 2, (const char *[]){ "--decay", "0" });
    if (x->decayed) add_words(t, 2, (const char *[]){ "--decay", decay });
}

/* A command that runs as it is printed. */
static const char *next_command(const plan_args *a, const pl_job *j, pl_arena *arena)
{
    const char *devices = pl_arena_fmt(arena, "%d", j->request.cluster->n_devices);
    pl_text t = { .arena = arena };
    if (!a->file) {
        add_words(&t, 2, (const char *[]){ "pleat", "plan" });
        add_words(&t, a->argc, (const char *const *)a->argv);
        pl_text_add(&t, " -o plan.json && pleat show plan.json -o plan.html");
    } else if (is_runnable(j->request.cluster)) {
        add_words(&t, 7,
                  (const char *[]){ "pleat", "train", j->args.spec, "--plan", a->file, "--devices",
                                    devices });
        if (strcmp(j->optimizer, PL_OPTIM_NAME) != 0)
            add_words(&t, 2, (const char *[]){ "--optimizer", j->optimizer });
        add_numbers(&t, &j->numbers);
        if (j->objectives) add_words(&t, 2, (const char *[]){ "--objectives", j->objectives });
        pl_text_add(&t, " --data synthetic\n          (data of your own: --data FILE)");
    } else {
        add_words(&t, 5,
                  (const char *[]){ "pleat", "show", a->file, "-o", page_of(a->file, arena) });
        pl_text_add(&t,
                    "\n          (training runs on CPUs so far: pleat verify tries a strategy at "
                    "small sizes here)");
    }
    return pl_text_get(&t);
}

static bool show(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const plan_args *a = args;
    const char *spec = operand[0];
    pl_job j;
    pl_found *best;
    pl_output file, problem;
    pl_text out = { .arena = arena };
    (void)n;
    if (a->file) PL_TRY(pl_output_open(a->file, arena, &file, err));
    if (a->problem) PL_TRY(pl_output_open(a->problem, arena, &problem, err));
    PL_TRY(pl_job_args_open(&a->job, spec, arena, &j, err));
    j.request.whole = a->json;
    j.request.told = !a->file;
    const char *ids = a->job.cache.ids;
    if (!(ids ? pl_job_find_cache(&j, ids, a->strategy, arena, &best, err)
              : pl_job_find(&j, a->strategy, arena, &best, err))) {
        if (err->code == PL_EINFEASIBLE && !j.request.evict)
            pl_changes_add(&a->job, spec, &j, arena, err);
        return false;
    }
    pl_request_tell_evict(&j.request, best);
    pl_told told = pl_job_told(&j, best, arena);
    told.next = next_command(a, &j, arena);
    if (!best->take->fits && !a->json && !a->full)
        told.change = pl_changes_words(&j, best, a->strategy, arena);
    told.columns = pl_job_columns();
    if (a->full)
        pl_plan_print(best->take->plan, &out);
    else if (a->json)
        pl_tell_json(&told, &out);
    else
        pl_tell_text(&told, &out);
    fputs(pl_text_get(&out), stdout); /* first: it is there even if the file cannot be written */
    if (a->problem) PL_TRY(write_problem(&problem, best, arena, err));
    return !a->file || write_file(&file, &j, best, arena, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(plan_args){ .argc = argc, .argv = argv, .job.decay = -1 }, 1,
                      1, show);
}

const pl_command pl_command_plan = {
    .name = "plan",
    .operands = "MODEL",
    .about = "the fastest way to split a model, or that of a strategy: time, memory, messages",
    .more = "example: pleat plan gpt2-xl --cluster 2x8xa100 --batch 64\n"
            "         pleat plan gpt2-xl --strategy zero=1,tp=8,sp --cluster local:64 --batch 64",
    .opts = opts,
    .run = run,
};
