/* pleat schedule: a pipeline schedule made, or read from a PyTorch file: what it takes, holds and
 * waits for, drawn. Without a name all of them, side by side. */
#include "base/file.h"
#include "base/output.h"
#include "base/table.h"
#include "cli/list.h"
#include "options/job.h"
#include "schedules/bound.h"
#include "schedules/csv.h"
#include "schedules/make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28, MOST_SECONDS = 1000000000 };

typedef struct schedule_args {
    const char *times, *csv, *file;
    int64_t ranks, micro, chunks;
    double send, memory, rest;
    bool apart, json;
} schedule_args;

#define LIMITED "search" /* the schedule that keeps to --memory */
#define AT(f) offsetof(schedule_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "ranks",  INT(ranks),   "N",     "4", "of the pipeline", 1, PL_PIPELINE_RANKS,
      .needs = "!csv" },
    { "micro",  INT(micro),   "N",     "8", "micro-batches of a step", 1, 1 << 20,
      .needs = "!csv" },
    { "chunks", INT(chunks),  "N",     NULL, "stages of a rank; default: as the schedule has", 1,
      1 << 10, .needs = "!csv" },
    { "times",  TEXT(times),  "F,I,W", "1,1,1",
      "seconds of a rank's stages together, or F,I,W/F,I,W/... of each" },
    { "send",   REAL(send),   "X",     "0", "seconds of a message between ranks", 0,
      MOST_SECONDS },
    { "memory", REAL(memory), "K",     NULL, "micro-batches that search may have a rank hold",
      .needs = "!csv" },
    { "rest",   REAL(rest),   "SHARE", "1", "of what is held, that stays from I until W", 0, 1 },
    { "apart",  FLAG(apart),  NULL,    NULL,
      "ranks need not begin a step at once: count each from its first pass" },
    { "csv",    PATH(csv),    "FILE",  NULL, "a schedule as PyTorch writes them, instead" },
    { "o",      PATH(file),   "FILE",  NULL, "write it as PyTorch reads it" },
    { "json",   FLAG(json),   NULL,    NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static double *repeat(double x, int64_t n, pl_arena *a)
{
    double *at = PL_NEW_N(a, double, n);
    for (int64_t i = 0; i < n; i++) at[i] = x;
    return at;
}

/* "F,I,W" at *at, which it moves to the next stage's, or to the end. */
static bool read_times(const schedule_args *a, const char **at, double x[3], pl_err *err)
{
    for (int i = 0; i < 3; i++) {
        char part[32];
        const size_t n = strcspn(*at, ",/");
        snprintf(part, sizeof part, "%.*s", n < sizeof part ? (int)n : 0, *at);
        if (!pl_text_real(part, &x[i]) || !(x[i] >= 0) || x[i] > MOST_SECONDS ||
            (i < 2) != ((*at)[n] == ','))
            return pl_err_set(err, PL_EUSAGE,
                              "--times %s: three numbers of seconds, F,I,W, up to %d", a->times,
                              MOST_SECONDS);
        *at += n + ((*at)[n] != '\0');
    }
    return x[0] + x[1] + x[2] > 0 ||
           pl_err_set(err, PL_EUSAGE, "--times %s: a stage takes no time at all", a->times);
}

/* Of equal stages, which share what a rank takes; or of each its own. */
static bool make_costs(const schedule_args *a, int64_t ranks, int64_t stages, pl_arena *arena,
                       pl_pass_costs *costs, pl_err *err)
{
    const double part = (double)ranks / (double)stages; /* of a rank, a stage */
    const bool equal = !strchr(a->times, '/');
    double *at[3], x[3];
    for (int i = 0; i < 3; i++) at[i] = PL_NEW_N(arena, double, stages);
    const char *text = a->times;
    int64_t n = 0;
    for (; n < stages && (equal || *text); n++) {
        if (!equal || !n) PL_TRY(read_times(a, &text, x, err));
        for (int i = 0; i < 3; i++) at[i][n] = equal ? x[i] * part : x[i];
    }
    if (n < stages || *text)
        return pl_err_set(err, PL_EUSAGE, "--times has %s those of %lld stages, and there are %lld",
                          *text ? "more than" : "only", (long long)n, (long long)stages);
    *costs = (pl_pass_costs){ .forward = at[0],
                              .input = at[1],
                              .weight = at[2],
                              .held = repeat(part, stages, arena),
                              .rest = repeat(a->rest * part, stages, arena),
                              .send = a->send };
    return true;
}

/* -- one --------------------------------------------------------------------------------------- */

typedef struct told {
    pl_pipeline s;
    pl_pass_costs costs;
    pl_pipeline_times t;
    double step, waits, bound;
} told;

static void measure(const schedule_args *a, told *x, pl_arena *arena)
{
    pl_pipeline_play(&x->s, &x->costs, arena, &x->t);
    x->step = a->apart ? x->t.own_seconds : x->t.seconds;
    x->waits = a->apart ? pl_pipeline_own_bubble(&x->t) : pl_pipeline_bubble(&x->t);
    const bool limited = a->memory > 0 && !strcmp(x->s.name, LIMITED);
    x->bound = pl_pipeline_bound(&x->s, &x->costs, limited ? a->memory : x->t.most_held, a->apart);
}

static bool make_one(const schedule_args *a, const char *name, told *x, pl_arena *arena,
                     pl_err *err)
{
    *x = (told){ 0 };
    if (a->csv) {
        const char *text;
        size_t n;
        PL_TRY(pl_file_read(a->csv, MOST_BYTES, arena, &text, &n, err));
        PL_TRY(pl_pipeline_csv_read(text, n, a->csv, arena, &x->s, err));
        PL_TRY(make_costs(a, x->s.n_ranks, x->s.n_stages, arena, &x->costs, err));
    } else {
        const int64_t chunks = a->chunks ? a->chunks : pl_pipeline_chunks(name);
        PL_TRY(make_costs(a, a->ranks, a->ranks * chunks, arena, &x->costs, err));
        const pl_pipeline_request r = { .ranks = (int)a->ranks,
                                        .micro = (int)a->micro,
                                        .chunks = (int)a->chunks,
                                        .costs = &x->costs,
                                        .memory = a->memory,
                                        .apart = a->apart };
        PL_TRY(pl_pipeline_make(name, &r, arena, &x->s, err));
    }
    measure(a, x, arena);
    return true;
}

static void put_json(const schedule_args *a, const told *x, pl_text *to)
{
    pl_json_out out = { .text = to };
    pl_json_open(&out, NULL, PL_JSON_OBJECT);
    PL_JSON_PUT(&out, "schema", "pleat.schedule/1", "schedule", x->s.name, "ranks",
                (int64_t)x->s.n_ranks, "stages", (int64_t)x->s.n_stages, "micro_batches",
                (int64_t)x->s.n_micro, "apart", a->apart);
    PL_JSON_PUT(&out, "step_seconds", x->step, "bubble", x->waits, "bound_seconds", x->bound,
                "held", x->t.most_held);
    pl_json_open(&out, "rows", PL_JSON_LIST);
    for (int r = 0; r < x->s.n_ranks; r++) {
        pl_json_open(&out, NULL, PL_JSON_LIST);
        for (int i = 0; i < x->s.row[r].n; i++)
            pl_json_put_text(&out, NULL, pl_pass_text(&x->s.row[r].at[i], to->arena));
        pl_json_close(&out);
    }
    pl_json_close(&out);
    pl_json_close(&out);
    pl_text_add(to, "\n");
}

static const char *gap_text(const told *x, pl_arena *a)
{
    const double gap = x->step > 0 ? (x->step - x->bound) / x->step : 0;
    if (gap < 1e-9) return "none with its memory is faster (proven)";
    return pl_arena_fmt(a, "none with its memory takes less than %.6g s (gap %.2f %%)", x->bound,
                        100 * gap);
}

static void put_text(const schedule_args *a, const told *x, pl_text *out)
{
    const int wide = pl_job_columns() - 7;
    pl_text_add(out, "%s: %d ranks, %d stages, %d micro-batches\n", x->s.name, x->s.n_ranks,
                x->s.n_stages, x->s.n_micro);
    pl_text_add(out, "step   %.6g s%s: a rank computes %.6g s, and waits %.2f %% of the step\n",
                x->step, a->apart ? " of a rank" : "", x->t.busy, 100 * x->waits);
    pl_text_add(out, "bound  %s\n", gap_text(x, out->arena));
    pl_text_add(out, "held   %.6g micro-batches of a rank at most, by rank:", x->t.most_held);
    for (int r = 0; r < x->s.n_ranks && r < 16; r++) pl_text_add(out, " %.4g", x->t.held[r]);
    pl_text_add(out, "%s\n\n rank  F: its micro-batch, B or I: a letter for it, A is 0; W ':'\n",
                x->s.n_ranks > 16 ? " ..." : "");
    pl_pipeline_picture(&x->s, &x->t, wide, out);
}

static bool tell_one(const schedule_args *a, const char *name, pl_arena *arena, pl_err *err)
{
    told x;
    pl_output file;
    pl_text text = { .arena = arena }, csv = { .arena = arena };
    if (a->file) PL_TRY(pl_output_open(a->file, arena, &file, err));
    PL_TRY(make_one(a, name, &x, arena, err));
    if (a->json)
        put_json(a, &x, &text);
    else
        put_text(a, &x, &text);
    fputs(pl_text_get(&text), stdout);
    if (!a->file) return true;
    pl_pipeline_csv_write(&x.s, &csv);
    return pl_output_write(&file, pl_text_get(&csv), csv.n, err);
}

/* -- all --------------------------------------------------------------------------------------- */

static bool tell_all(const schedule_args *a, pl_arena *arena, pl_err *err)
{
    const char *times = a->times;
    double x[3];
    PL_TRY(read_times(a, &times, x, err));
    pl_table t = pl_table_new(arena, "schedule\t>step\t>waits\t>held\t>bound\t");
    for (const pl_pipeline_generator *g = pl_pipeline_generators; g->name; g++) {
        told one;
        pl_err why = { 0 };
        schedule_args args = *a;
        if (!g->any_chunks) args.chunks = 0;
        if (!make_one(&args, g->name, &one, arena, &why)) {
            pl_table_add(&t, "%s\t\t\t\t\t%s", g->name, why.msg);
            continue;
        }
        pl_table_add(&t, "%s\t%.6g s\t%.2f %%\t%.4g\t%.6g s\t%s", g->name, one.step,
                     100 * one.waits, one.t.most_held, one.bound, g->about);
    }
    printf("%lld ranks, %lld micro-batches\n\n%s\nbound: with its stages on these ranks no "
           "schedule is faster that holds no more\n",
           (long long)a->ranks, (long long)a->micro, pl_table_text(&t));
    return true;
}

static bool work(void *args, int n, const char *const operand[], pl_arena *arena, pl_err *err)
{
    const schedule_args *a = args;
    if (a->csv && n)
        return pl_err_set(err, PL_EUSAGE, "give the name of a schedule or --csv, not both");
    if (!n && !a->csv && (a->file || a->json))
        return pl_err_set(err, PL_EUSAGE, "name a schedule for -o and --json; --help lists them");
    if (n && a->memory > 0 && strcmp(operand[0], LIMITED) != 0)
        return pl_err_set(err, PL_EUSAGE, "--memory is kept to by schedule %s alone, not by %s",
                          LIMITED, operand[0]);
    return n || a->csv ? tell_one(a, n ? operand[0] : NULL, arena, err) : tell_all(a, arena, err);
}

static int run(const pl_command *c, int argc, char **argv)
{
    return pl_opt_run(c, argc, argv, &(schedule_args){ 0 }, 0, 1, work);
}

const pl_command pl_command_schedule = {
    .name = "schedule",
    .operands = "[NAME]",
    .about = "a pipeline schedule: what it takes, holds and waits for, drawn",
    .more = "without NAME all schedules are compared, with what each does\n"
            "example: pleat schedule zb-h1 --ranks 8 --micro 24",
    .opts = opts,
    .run = run,
};
