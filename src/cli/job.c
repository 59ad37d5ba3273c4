#include "cli/job.h"

#include "base/clock.h"
#include "base/file.h"
#include "train/optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool find_cluster(const pl_job_args *a, pl_arena *arena, pl_cluster **c, pl_err *err)
{
    if (!a->cluster && !a->devices)
        return pl_err_set(err, PL_EUSAGE, "give --cluster NAME, e.g. 2x8xv100, or --devices N");
    const char *name =
        a->cluster ? a->cluster : pl_arena_fmt(arena, "local:%lld", (long long)a->devices);
    PL_TRY(pl_cluster_find(name, arena, c, err));
    return !a->devices || a->devices == (*c)->n_devices ||
           pl_err_set(err, PL_EUSAGE, "--cluster %s has %d devices, --devices says %lld", name,
                      (*c)->n_devices, (long long)a->devices);
}

static bool build(pl_job *j, pl_arena *arena, pl_err *err)
{
    pl_model_args args;
    const pl_optim o = pl_optim_usual(j->optimizer);
    PL_TRY(pl_model_parse(j->model, arena, &args, err));
    pl_sizes_tell(&args);
    j->model = args.spec;
    pl_builder b = pl_optim_step(&args, &o, arena);
    return pl_builder_done(&b, &j->graph, err);
}

enum { MOST_TOLD = 8 };

/* What long work is at, once it takes longer than people wait. */
typedef struct live {
    double begin;
    bool shown;
    int n_told;
    const char *told[MOST_TOLD]; /* kinds of work */
} live;

/* On a terminal: one line that is written over. */
static void show_live(void *self, const char *what, int i, int n)
{
    enum { PATIENCE = 1 }; /* seconds */
    live *l = self;
    if (what && pl_clock_now() - l->begin < PATIENCE) return;
    if (what)
        fprintf(stderr, "\r\033[K%s %d of %d", what, i, n);
    else if (l->shown)
        fprintf(stderr, "\r\033[K");
    l->shown = what != NULL;
    fflush(stderr);
}

/* Elsewhere: a line for each kind of work that takes long. */
static void show_line(void *self, const char *what, int i, int n)
{
    enum { PATIENCE = 5 };
    live *l = self;
    const double seconds = pl_clock_now() - l->begin;
    if (!what || seconds < PATIENCE || l->n_told == MOST_TOLD) return;
    for (int k = 0; k < l->n_told; k++)
        if (!strcmp(l->told[k], what)) return;
    fprintf(stderr, "after %.0f s: %s %d of %d\n", seconds, what, i, n);
    fflush(stderr);
    l->told[l->n_told++] = what;
}

static void watch(pl_job *j, pl_arena *arena)
{
    live *l = PL_NEW(arena, live);
    pl_watch *w = PL_NEW(arena, pl_watch);
    l->begin = pl_clock_now();
    *w = (pl_watch){ isatty(STDERR_FILENO) ? show_live : show_line, l };
    j->options.watch = w;
}

static bool set_options(const pl_job_args *a, pl_job *j, pl_arena *arena, pl_err *err)
{
    double memory = a->memory ? (double)a->memory : INFINITY;
    j->options = (pl_auto_options){ .memory = fmin(memory, pl_cluster_memory(j->cluster)),
                                    .axes = (int)a->axes,
                                    .tied = a->effort == 1 };
    watch(j, arena);
    j->lower = (pl_lower_options){ .bucket_bytes = a->bucket,
                                   .ahead_bytes = a->ahead ? a->ahead : -1,
                                   .step_bytes = a->steps_over };
    return !a->search || pl_baseline_find(a->search, &j->options.method, err);
}

bool pl_job_open(const pl_job_args *a, const char *spec, pl_arena *arena, pl_job *out, pl_err *err)
{
    *out = (pl_job){ .model = pl_sizes_spec(&a->sizes, spec, arena), .optimizer = a->optimizer };
    PL_TRY(find_cluster(a, arena, &out->cluster, err));
    PL_TRY(set_options(a, out, arena, err));
    return build(out, arena, err);
}

static bool open_file(const pl_job_args *a, const pl_plan_file *f, pl_arena *arena, pl_job *out,
                      pl_plan **plan, pl_err *err)
{
    *out = (pl_job){ .model = f->about.model, .optimizer = f->about.optimizer };
    if (!f->cluster) return pl_err_set(err, PL_EINPUT, "it names no cluster: make it again");
    pl_cluster *c = out->cluster = PL_NEW(arena, pl_cluster);
    *c = *f->cluster;
    PL_TRY(set_options(a, out, arena, err));
    PL_TRY(build(out, arena, err));
    return pl_plan_file_plan(f, out->graph, arena, plan, err);
}

bool pl_job_read(const pl_job_args *a, const char *path, pl_arena *arena, pl_job *out,
                 pl_plan **plan, pl_plan_about *about, pl_err *err)
{
    pl_plan_file f;
    const char *text;
    size_t n;
    PL_TRY(pl_file_read(path, PL_PLAN_FILE_BYTES, arena, &text, &n, err));
    if (!pl_plan_file_read(text, n, arena, &f, err) || !open_file(a, &f, arena, out, plan, err)) {
        if (err->code == PL_EUSAGE) err->code = PL_EINPUT; /* it is the file that says so */
        return pl_err_in(err, "%s", path);
    }
    *about = f.about;
    return true;
}

/* The first input that is no single number. */
static const pl_value *find_input(const pl_job *j)
{
    for (int i = 0; i < j->graph->values.n; i++) {
        const pl_value *v = j->graph->values.at[i];
        if (v->role == PL_INPUT && v->shape.rank) return v;
    }
    return NULL;
}

int64_t pl_job_rows(const pl_job *j)
{
    const pl_value *first = find_input(j);
    return first ? first->shape.dim[0] : 1;
}

const char *pl_job_units(const pl_job *j, int64_t *n)
{
    const pl_value *first = find_input(j);
    bool tokens = first && first->type == PL_I32 && first->shape.rank == 2;
    *n = tokens ? pl_shape_count(&first->shape) : pl_job_rows(j);
    return tokens ? "tokens" : "samples";
}

int pl_job_columns(void)
{
    enum { MOST = 100, LEAST = 40 };
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col) return MOST;
    return w.ws_col < LEAST ? LEAST : w.ws_col < MOST ? w.ws_col : MOST;
}
