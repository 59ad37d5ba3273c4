#include "options/job.h"

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

/* Of those that are not given nothing is said. */
static pl_plan_numbers find_numbers(const pl_job_args *a)
{
    const double usual = pl_optim_usual(a->optimizer).decay;
    return (pl_plan_numbers){ .unclipped = a->clip <= 0,
                              .no_momentum = a->momentum <= 0 && !strcmp(a->optimizer, "sgd"),
                              .decayed = a->decay > 0 && usual <= 0,
                              .undecayed = a->decay >= 0 && a->decay <= 0 && usual > 0 };
}

bool pl_job_args_open(const pl_job_args *a, const char *spec, pl_arena *arena, pl_job *out,
                      pl_err *err)
{
    const pl_cache_args *c = &a->cache;
    const bool automatic = c->size && c->ids && !strcmp(c->size, "auto"); /* found with a plan */
    *out = (pl_job){ .optimizer = a->optimizer,
                     .objectives = a->objectives,
                     .numbers = find_numbers(a),
                     .cache = automatic ? NULL : c->size };
    PL_TRY(pl_request_make(&a->request, arena, &out->request, err));
    PL_TRY(find_cluster(a, arena, &out->request.cluster, err));
    PL_TRY(pl_model_parse(pl_sizes_spec(&a->sizes, spec, arena), arena, &out->args, err));
    pl_sizes_tell(&out->args);
    const bool masters = pl_model_type(&out->args) != PL_F32; /* as plans mostly have them */
    PL_TRY(pl_job_build(out, 1, masters, arena, err));
    out->cache = c->size;
    return true;
}

bool pl_job_args_read(const pl_job_args *a, const char *path, pl_arena *arena, pl_job *out,
                      pl_plan **plan, pl_plan_about *about, pl_err *err)
{
    *out = (pl_job){ 0 };
    return pl_request_make(&a->request, arena, &out->request, err) &&
           pl_job_read(out, path, NULL, arena, plan, about, err);
}

int pl_job_columns(void)
{
    enum { MOST = 100, LEAST = 40 };
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col) return MOST;
    return w.ws_col < LEAST ? LEAST : w.ws_col < MOST ? w.ws_col : MOST;
}
