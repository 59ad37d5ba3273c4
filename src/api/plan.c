/* Plans: found for a model on a cluster, or read; told as text and JSON. */
#include "api/context.h"
#include "api/memory.h"
#include "base/file.h"
#include "base/output.h"
#include "report/tell.h"
#include "train/optim.h"

#include <string.h>

const pl_held_plan *pl_held_plan_of(const pl_plan *p)
{
    return (const pl_held_plan *)(const void *)p;
}

static pl_plan *hold(pl_context *c, const pl_model *m, const pl_job *j, pl_found *f)
{
    pl_held_plan *h = PL_NEW(c->arena, pl_held_plan);
    *h = (pl_held_plan){ .plan = *f->take->plan, .context = c, .model = m, .job = *j, .found = f };
    return &h->plan;
}

/* -- options ----------------------------------------------------------------------------------- */

static bool read_options(const pl_plan_options *given, pl_plan_options *out, pl_err *err)
{
    static const pl_plan_options usual = PL_PLAN_OPTIONS;
    *out = usual;
    PL_TRY(pl_context_options(given, "pl_plan_options", "PL_PLAN_OPTIONS", sizeof *out, out, err));
    if (!out->strategy) out->strategy = usual.strategy;
    if (!out->optimizer) out->optimizer = usual.optimizer;
    if (!out->effort) out->effort = usual.effort;
    if (out->effort < 1 || out->effort > 3)
        return pl_err_set(err, PL_EUSAGE, "effort is %d; there are 1, 2 and 3", out->effort);
    if (!(out->seconds >= 0)) return pl_err_set(err, PL_EUSAGE, "%g seconds", out->seconds);
    if (!(out->memory >= 0)) return pl_err_set(err, PL_EUSAGE, "memory is %g bytes", out->memory);
    return true;
}

static const pl_watch *watch_of(const pl_context *c)
{
    return c->watch.see ? &c->watch : NULL;
}

static bool make_request(pl_context *c, const pl_plan_options *o, const pl_cluster *cluster,
                         pl_plan_request *r, pl_err *err)
{
    *r = (pl_plan_request){ .cluster = cluster,
                            .search = { .memory = o->memory,
                                        .tied = o->effort == 1,
                                        .pipelines = o->effort == 3,
                                        .axes = o->axes,
                                        .seconds = o->seconds,
                                        .watch = watch_of(c) },
                            .lower = { .bucket_bytes = o->bucket_bytes,
                                       .ahead_bytes = o->ahead_bytes,
                                       .step_bytes = o->step_bytes },
                            .whole = true /* JSON has what all of a program takes */ };
    return !o->search || pl_planner_find(o->search, &r->search.method, err);
}

/* -- making ------------------------------------------------------------------------------------ */

pl_plan *pl_plan_new(const pl_model *m, const pl_cluster *cluster, const pl_plan_options *options)
{
    pl_context *c = m->context;
    pl_err *err;
    pl_plan_options o;
    pl_found *f;
    pl_job j = { .args = m->args };
    bool ok = pl_context_ready(c, &err) && read_options(options, &o, err) &&
              make_request(c, &o, cluster, &j.request, err);
    if (ok) j.optimizer = pl_arena_text(c->arena, o.optimizer);
    if (ok && o.objectives) j.objectives = pl_arena_text(c->arena, o.objectives);
    ok = ok && pl_job_build(&j, 1, false, c->arena, err) &&
         pl_job_find(&j, o.strategy, c->arena, &f, err);
    return ok ? hold(c, m, &j, f) : NULL;
}

pl_plan *pl_plan_open(pl_context *c, const char *path, const pl_model *m)
{
    pl_err *err;
    pl_plan *plan;
    pl_plan_about about;
    pl_found *f;
    pl_job j = { .request = { .search.watch = watch_of(c), .whole = true } };
    if (!pl_context_ready(c, &err)) return NULL;
    if (!pl_job_read(&j, path, m ? &m->args : NULL, c->arena, &plan, &about, err)) return NULL;
    if (!pl_plan_forecast(&j.request, plan, c->arena, &f, err)) return NULL;
    if (!m) {
        pl_model *own = PL_NEW(c->arena, pl_model);
        *own = (pl_model){ .context = c, .args = j.args };
        m = own;
    }
    return hold(c, m, &j, f);
}

bool pl_plan_save(const pl_plan *p, const char *path)
{
    const pl_held_plan *h = pl_held_plan_of(p);
    pl_err *err = pl_context_begin(h->context);
    pl_arena *tmp = pl_arena_new("plan file");
    pl_text t = { .arena = tmp };
    pl_output file;
    bool ok = pl_output_open(path, tmp, &file, err);
    if (ok) pl_job_write(&h->job, h->found, &t);
    ok = ok && pl_output_write(&file, t.at, t.n, err);
    pl_arena_free(tmp);
    return ok;
}

/* -- telling ----------------------------------------------------------------------------------- */

int pl_plan_devices(const pl_plan *p)
{
    return pl_mesh_ranks(&p->mesh);
}

const char *pl_plan_strategy(const pl_plan *p)
{
    return p->strategy;
}

double pl_plan_seconds(const pl_plan *p)
{
    return pl_held_plan_of(p)->found->take->forecast.step_seconds;
}

double pl_plan_bytes(const pl_plan *p)
{
    return (double)pl_held_plan_of(p)->found->take->forecast.memory.peak;
}

bool pl_plan_fits(const pl_plan *p)
{
    return pl_held_plan_of(p)->found->take->fits;
}

static const char *tell(const pl_plan *p, void (*how)(const pl_told *t, pl_text *out))
{
    const pl_held_plan *h = pl_held_plan_of(p);
    const pl_told told = pl_job_told(&h->job, h->found, h->context->arena);
    pl_text t = { .arena = h->context->arena };
    how(&told, &t);
    return pl_text_get(&t);
}

const char *pl_plan_text(const pl_plan *p)
{
    return tell(p, pl_tell_text);
}

const char *pl_plan_json(const pl_plan *p)
{
    return tell(p, pl_tell_json);
}

static const pl_explain_options listing = { .most = 12, .columns = 100 };

const char *pl_plan_explain(const pl_plan *p, const char *name, bool json)
{
    const pl_held_plan *h = pl_held_plan_of(p);
    pl_err *err = pl_context_begin(h->context);
    pl_explain_options o = listing;
    pl_text t = { .arena = h->context->arena };
    const char *note;
    o.json = json;
    return pl_job_explain(&h->job, h->found, name, &o, &t, &note, err) ? pl_text_get(&t) : NULL;
}

const char *pl_plan_why_not(const pl_plan *p, const char *strategy, bool json)
{
    const pl_held_plan *h = pl_held_plan_of(p);
    pl_err *err = pl_context_begin(h->context);
    pl_explain_options o = listing;
    pl_text t = { .arena = h->context->arena };
    o.json = json;
    return pl_job_why_not(&h->job, h->found, strategy, &o, &t, err) ? pl_text_get(&t) : NULL;
}

const char *pl_plan_memory(const pl_plan *p, const char *order, const char *layout, bool json)
{
    const pl_held_plan *h = pl_held_plan_of(p);
    pl_context *c = h->context;
    const pl_memory_options o = { .order = order,
                                  .layout = layout,
                                  .moves = PL_MEMORY_MOVES,
                                  .nodes = PL_MEMORY_NODES,
                                  .watch = watch_of(c) };
    pl_arena *tmp = pl_arena_new("memory of a plan");
    pl_memory *m;
    pl_text t = { .arena = c->arena };
    const bool ok = pl_memory_study(p, &o, tmp, &m, pl_context_begin(c));
    if (ok) (json ? pl_memory_json : pl_memory_text)(m, &t);
    pl_arena_free(tmp);
    return ok ? pl_text_get(&t) : NULL;
}
