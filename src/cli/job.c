#include "cli/job.h"

#include "base/file.h"
#include "train/optim.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool find_cluster(const pl_job_args *a, pl_arena *arena, const pl_cluster **out, pl_err *err)
{
    pl_cluster *c;
    if (!a->cluster && !a->devices)
        return pl_err_set(err, PL_EUSAGE, "give --cluster NAME, e.g. 2x8xv100, or --devices N");
    const char *name =
        a->cluster ? a->cluster : pl_arena_fmt(arena, "local:%lld", (long long)a->devices);
    PL_TRY(pl_cluster_find(name, arena, &c, err));
    *out = c;
    return !a->devices || a->devices == c->n_devices ||
           pl_err_set(err, PL_EUSAGE, "--cluster %s has %d devices, --devices says %lld", name,
                      c->n_devices, (long long)a->devices);
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

bool pl_job_open(const pl_job_args *a, const char *spec, pl_arena *arena, pl_job *out, pl_err *err)
{
    *out = (pl_job){ .model = pl_sizes_spec(&a->sizes, spec, arena), .optimizer = a->optimizer };
    PL_TRY(pl_request_make(&a->request, arena, &out->request, err));
    PL_TRY(find_cluster(a, arena, &out->cluster, err));
    out->request.cluster = out->cluster;
    return build(out, arena, err);
}

bool pl_job_find(const pl_job *j, const char *strategy, pl_arena *arena, pl_found **found,
                 pl_err *err)
{
    pl_plan_request r = j->request;
    return pl_strategy_parse(strategy, j->cluster->n_devices, arena, &r.strategy, err) &&
           pl_plan_find(&r, j->graph, arena, found, err);
}

static bool open_file(const pl_job_args *a, const pl_plan_file *f, pl_arena *arena, pl_job *out,
                      pl_plan **plan, pl_err *err)
{
    *out = (pl_job){ .model = f->about.model, .optimizer = f->about.optimizer };
    if (!f->cluster) return pl_err_set(err, PL_EINPUT, "it names no cluster: make it again");
    PL_TRY(pl_request_make(&a->request, arena, &out->request, err));
    out->request.cluster = out->cluster = f->cluster;
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
