/* A job: its graph, its plan, its file. */
#include "api/job.h"

#include "base/file.h"
#include "report/why.h"
#include "train/rests.h"

pl_optim pl_job_optim(const pl_job *j)
{
    pl_optim o = pl_optim_usual(j->optimizer);
    o.objectives = j->objectives;
    if (j->numbers.unclipped) o.clip = 0;
    if (j->numbers.no_momentum) o.momentum = 0;
    if (j->numbers.undecayed) o.decay = 0;
    if (j->numbers.decayed) o.decay = PL_OPTIM_DECAY;
    return o;
}

static bool make_optim(const pl_job *j, pl_optim *out, pl_err *err)
{
    *out = pl_job_optim(j);
    return !j->cache || !*j->cache || pl_cached_parse(j->cache, &out->cache, err);
}

bool pl_job_build(pl_job *j, int64_t micro, bool masters, pl_arena *arena, pl_err *err)
{
    pl_optim o;
    PL_TRY(make_optim(j, &o, err));
    j->made = PL_NEW(arena, pl_steps);
    j->made->arena = arena;
    const pl_trained t = { &j->args, &o, j->made };
    pl_graph *g;
    o.masters = masters;
    PL_TRY(pl_step_graph(&t, micro, arena, &g, err));
    j->graph = g;
    return true;
}

static bool open_file(pl_job *j, const pl_plan_file *f, const pl_model_args *own, pl_arena *arena,
                      pl_plan **plan, pl_err *err)
{
    if (!f->cluster) return pl_err_set(err, PL_EINPUT, "it names no cluster: make it again");
    if (own)
        j->args = *own;
    else
        PL_TRY(pl_model_parse(f->about.model, arena, &j->args, err));
    j->optimizer = f->about.optimizer;
    j->objectives = f->about.objectives;
    j->numbers = f->about.numbers;
    j->cache = f->about.cache;
    j->n_caches = f->about.n_caches, j->caches = f->about.caches;
    j->request.cluster = f->cluster;
    return pl_job_build(j, f->micro, f->masters, arena, err) &&
           pl_plan_file_plan(f, j->graph, arena, plan, err);
}

bool pl_job_read(pl_job *j, const char *path, const pl_model_args *own, pl_arena *arena,
                 pl_plan **plan, pl_plan_about *about, pl_err *err)
{
    pl_plan_file f;
    const char *text;
    size_t n;
    PL_TRY(pl_file_read(path, PL_PLAN_FILE_BYTES, arena, &text, &n, err));
    if (!pl_plan_file_read(text, n, arena, &f, err) || !open_file(j, &f, own, arena, plan, err)) {
        if (err->code == PL_EUSAGE) err->code = PL_EINPUT; /* it is the file that says so */
        return pl_err_in(err, "%s", path);
    }
    *about = f.about;
    return true;
}

void pl_job_write(const pl_job *j, const pl_found *f, pl_text *out)
{
    pl_text cluster = { .arena = out->arena };
    pl_cluster_print(f->strategy.cluster, &cluster);
    const pl_plan_about about = { .model = j->args.spec,
                                  .optimizer = j->optimizer,
                                  .objectives = j->objectives,
                                  .numbers = j->numbers,
                                  .cache = j->cache,
                                  .n_caches = j->n_caches,
                                  .caches = j->caches,
                                  .cluster = pl_text_get(&cluster),
                                  .strategy = f->take->plan->strategy,
                                  .step_seconds = f->take->forecast.step_seconds,
                                  .memory_bytes = (double)f->take->forecast.memory.peak };
    pl_plan_write(f->take->plan, &about, out);
}

bool pl_job_plan(const pl_job *j, const pl_plan_request *r, pl_arena *arena, pl_found **found,
                 pl_err *err)
{
    pl_optim o;
    return make_optim(j, &o, err) &&
           pl_step_find(r, &(pl_trained){ &j->args, &o, j->made }, arena, found, err);
}

bool pl_job_find(pl_job *j, const char *strategy, pl_arena *arena, pl_found **found, pl_err *err)
{
    pl_plan_request r = j->request;
    PL_TRY(pl_strategy_parse(strategy, r.cluster->n_devices, arena, &r.strategy, err));
    PL_TRY(pl_job_plan(j, &r, arena, found, err));
    j->graph = (*found)->take->plan->graph;
    return true;
}

/* A mean that cannot be told is none. */
static double find_mean(const pl_job *j, const pl_found *f, pl_arena *arena)
{
    pl_optim o;
    pl_err none = { 0 };
    double seconds = 0;
    const pl_trained t = { &j->args, &o, NULL };
    const bool told =
        make_optim(j, &o, &none) && pl_rests_mean(&t, f, &j->request.lower, arena, &seconds, &none);
    return told ? seconds : 0;
}

pl_told pl_job_told(const pl_job *j, const pl_found *f, pl_arena *arena)
{
    const pl_cluster *c = f->strategy.cluster;
    pl_told t = { .model = j->args.spec, .graph = j->graph, .cluster = c, .best = f };
    t.units = pl_job_units(j, &t.n_units);
    t.mean_seconds = find_mean(j, f, arena);
    t.cache = j->cache, t.n_caches = j->n_caches, t.caches = j->caches;
    if (f->search && c->n_devices > 1) t.why = pl_why_sentence(f, arena);
    return t;
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
    return first ? j->graph->micro * first->shape.dim[0] : 1;
}

const char *pl_job_units(const pl_job *j, int64_t *n)
{
    const pl_value *first = find_input(j);
    bool tokens = first && first->type == PL_I32 && first->shape.rank == 2;
    *n = tokens ? j->graph->micro * pl_shape_count(&first->shape) : pl_job_rows(j);
    return tokens ? "tokens" : "samples";
}
