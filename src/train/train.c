#include "train/train.h"

#include "base/clock.h"
#include "base/rng.h"
#include "ops/lib/all.h"
#include "run/save.h"
#include "train/state.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIN, EVAL };

struct pl_train_job {
    pl_train_options o;
    int n_ranks;
    pl_arena *arena;
    pl_model_args args;
    pl_data data;
    pl_graph *graph[2];
    pl_plan *plan[2];
    pl_checkpoint from; /* when resuming */
    const char *settings;
    const char *notes; /* settings that differ from the checkpoint's */
    int64_t tokens;    /* per step */
};

/* -- making a job ------------------------------------------------------------------------------ */

static bool build(pl_train_job *j, int which, pl_err *err)
{
    pl_builder b = pl_builder_new(j->arena, &pl_ops_all, j->args.spec);
    j->args.model->build(&b, &j->args, which == TRAIN ? PL_TRAIN : PL_EVAL);
    pl_value *loss = b.err.code ? NULL : pl_graph_find(b.graph, "loss");
    if (which == TRAIN) pl_optim_add(&b, &j->o.optim, loss);
    return pl_builder_done(&b, &j->graph[which], err);
}

static bool make_plan(pl_train_job *j, int which, pl_err *err)
{
    if (j->n_ranks > 1)
        return pl_plan_data_parallel(j->graph[which], j->n_ranks, j->arena, &j->plan[which], err);
    j->plan[which] = pl_plan_single(j->graph[which], j->arena);
    return true;
}

static bool check_batch(const pl_train_job *j, pl_err *err)
{
    int64_t batch = pl_model_int(&j->args, "batch"), n = j->n_ranks, fits = n;
    if (batch % n == 0) return true;
    while (batch % fits) fits--;
    return pl_err_set(err, PL_EINPUT,
                      "batch=%lld does not divide over %lld devices: give --batch %lld, or "
                      "%lld devices",
                      (long long)batch, (long long)n, (long long)((batch / n + 1) * n),
                      (long long)fits);
}

static bool open_data(pl_train_job *j, pl_err *err)
{
    const pl_model_args *a = &j->args;
    bool text = !strcmp(a->model->data, "text");
    j->tokens = pl_model_int(a, "batch") * (text ? pl_model_int(a, "seq") : 1);
    if (!strcmp(j->o.data, "synthetic")) return true;
    if (!text)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "model '%s' reads %s, and --data files are text: use "
                          "--data synthetic",
                          a->model->name, a->model->data);
    if (pl_model_int(a, "vocab") < 256)
        return pl_err_set(err, PL_EINPUT,
                          "vocab=%lld is too small: the tokens of a file are its bytes, "
                          "write vocab=256",
                          (long long)pl_model_int(a, "vocab"));
    return pl_data_open(j->o.data, j->o.train_share, pl_model_int(a, "seq"), j->arena, &j->data,
                        err);
}

/* What must be equal for a resumed run to go on as if it had never stopped, to the last bit. */
static const char *settings_text(const pl_train_job *j)
{
    const pl_train_options *o = &j->o;
    return pl_arena_fmt(
        j->arena,
        "{\"optimizer\": \"%s\", \"lr\": %.17g, \"lr_min\": %.17g, \"warmup\": %lld, "
        "\"beta1\": %.17g, \"beta2\": %.17g, \"eps\": %.17g, \"momentum\": %.17g, "
        "\"decay\": %.17g, \"clip\": %.17g, \"steps\": %lld, \"train_share\": %.17g}",
        o->optim.name, o->lr, o->lr_min, (long long)o->warmup, o->optim.beta1, o->optim.beta2,
        o->optim.eps, o->optim.momentum, o->optim.decay, o->optim.clip, (long long)o->steps,
        o->train_share);
}

static void compare_settings(const char *was, const char *is, pl_text *notes)
{
    json_t *a = json_loads(was, 0, NULL), *b = json_loads(is, 0, NULL), *x;
    const char *key;
    PL_ASSERT(b);
    json_object_foreach(b, key, x)
    {
        char *mine = json_dumps(x, JSON_ENCODE_ANY), *old = NULL;
        json_t *y = json_object_get(a, key);
        if (y) old = json_dumps(y, JSON_ENCODE_ANY);
        if (!old || strcmp(mine, old))
            pl_text_add(notes, "%s%s was %s, is %s", notes->n ? "; " : "", key,
                        old ? old : "not saved", mine);
        free(mine);
        free(old);
    }
    json_decref(a);
    json_decref(b);
}

static bool open_checkpoint(pl_train_job *j, pl_err *err)
{
    PL_TRY(pl_checkpoint_open(j->o.resume, j->arena, &j->from, err));
    const pl_manifest *m = &j->from.manifest;
    pl_text problems = { .arena = j->arena };
    if (strcmp(m->model, j->args.spec))
        pl_text_add(&problems, "the model was '%s', is '%s'", m->model, j->args.spec);
    if (m->seed != j->o.seed)
        pl_text_add(&problems, "%sseed was %llu, is %llu", problems.n ? "; " : "",
                    (unsigned long long)m->seed, (unsigned long long)j->o.seed);
    if (strcmp(m->data_hash ? m->data_hash : "", j->data.hash ? j->data.hash : ""))
        pl_text_add(&problems, "%sthe data was '%s' (%lld bytes) with other contents",
                    problems.n ? "; " : "", m->data, (long long)m->data_bytes);
    if (problems.n)
        return pl_err_set(err, PL_EINPUT, "cannot resume %s: %s", j->o.resume,
                          pl_text_get(&problems));
    if (m->step > j->o.steps)
        return pl_err_set(err, PL_EINPUT, "%s has done %lld steps, --steps is %lld", j->o.resume,
                          (long long)m->step, (long long)j->o.steps);
    pl_text notes = { .arena = j->arena };
    compare_settings(m->settings ? m->settings : "{}", j->settings, &notes);
    j->notes = pl_text_get(&notes);
    return true;
}

static bool make_job(pl_train_job *j, pl_err *err)
{
    PL_TRY(pl_model_parse(j->o.model, j->arena, &j->args, err));
    PL_TRY(check_batch(j, err));
    PL_TRY(open_data(j, err));
    PL_TRY(build(j, TRAIN, err));
    PL_TRY(build(j, EVAL, err));
    PL_TRY(make_plan(j, TRAIN, err));
    PL_TRY(make_plan(j, EVAL, err));
    j->settings = settings_text(j);
    if (j->o.resume) PL_TRY(open_checkpoint(j, err));
    return !j->o.save || pl_save_make_folder(j->o.save, err);
}

bool pl_train_new(const pl_train_options *o, int n_ranks, pl_arena *arena, pl_train_job **out,
                  pl_err *err)
{
    pl_train_job *j = PL_NEW(arena, pl_train_job);
    *j = (pl_train_job){ .o = *o, .n_ranks = n_ranks, .arena = arena, .notes = "" };
    *out = j;
    if (make_job(j, err)) return true;
    pl_train_free(j);
    return false;
}

void pl_train_free(pl_train_job *j)
{
    pl_data_free(&j->data);
    if (j->from.map) pl_checkpoint_free(&j->from);
}

const pl_graph *pl_train_graph(const pl_train_job *j)
{
    return j->graph[TRAIN];
}

const pl_data *pl_train_data(const pl_train_job *j)
{
    return &j->data;
}

const char *pl_train_notes(const pl_train_job *j)
{
    return j->notes;
}

/* -- running it as one rank -------------------------------------------------------------------- */

typedef struct runner {
    const pl_train_job *j;
    pl_exec *exec;
    const pl_store *store;
    const pl_program *program[2];
    int rank;
    void (*tell)(void *, const pl_train_event *);
    void *to;
    int64_t below; /* synthetic integers */
} runner;

static void tell(runner *r, pl_train_event e)
{
    if (r->rank == 0 && r->tell) r->tell(r->to, &e);
}

/* Linear warm-up, then a cosine to lr_min (Loshchilov & Hutter, 2017, without restarts). */
static double learning_rate(const pl_train_options *o, int64_t step)
{
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)(o->warmup + 1);
    double left = (double)(o->steps - o->warmup),
           at = left > 0 ? (double)(step - o->warmup) / left : 1;
    return o->lr_min + 0.5 * (o->lr - o->lr_min) * (1 + cos(3.141592653589793 * (at < 1 ? at : 1)));
}

/* step < 0: a validation batch. */
static void fill_inputs(runner *r, int which, int64_t step)
{
    const pl_program *p = r->program[which];
    const pl_train_options *o = &r->j->o;
    for (int i = 0; i < p->n_inputs; i++) {
        const pl_port *port = &p->input[i];
        const char *name = port->value->name;
        void *at = pl_exec_input(r->exec, which, name, NULL);
        if (!strcmp(name, "lr"))
            *(float *)at = (float)learning_rate(o, step);
        else if (!strcmp(name, "step"))
            *(int64_t *)at = step + 1;
        else if (!strcmp(name, "seed"))
            *(int64_t *)at = (int64_t)(pl_rng_mix(o->seed, (uint64_t)step) >> 1);
        else
            pl_data_fill(&r->j->data, port, o->seed, step, o->eval_batches, r->below, at);
    }
}

static double scalar(const runner *r, int which, const char *name)
{
    const float *x = pl_exec_output(r->exec, which, name, NULL);
    return x ? (double)*x : -1;
}

static bool evaluate(runner *r, int64_t step, pl_err *err)
{
    double sum = 0;
    int64_t n = r->j->o.eval_batches;
    if (n < 1) return true;
    for (int64_t i = 0; i < n; i++) {
        fill_inputs(r, EVAL, -1 - i);
        PL_TRY(pl_exec_step(r->exec, EVAL, err));
        sum += scalar(r, EVAL, "loss");
    }
    tell(r, (pl_train_event){ .what = PL_TOLD_EVAL, .step = step, .loss = sum / (double)n });
    return true;
}

static bool save(runner *r, int64_t step, pl_err *err)
{
    const pl_train_job *j = r->j;
    const pl_manifest m = { .model = j->args.spec,
                            .step = step,
                            .seed = j->o.seed,
                            .data_step = step,
                            .data = j->o.data,
                            .data_bytes = j->data.n,
                            .data_hash = j->data.hash ? j->data.hash : "",
                            .settings = j->settings };
    double start = pl_clock_now();
    if (r->rank == 0 && !pl_state_save(r->exec, r->store, j->o.save, &m, j->o.keep, err))
        pl_err_in(err, "saving step %lld", (long long)step);
    PL_TRY(pl_exec_agree(r->exec, err));
    tell(r, (pl_train_event){ .what = PL_TOLD_SAVE,
                              .step = step,
                              .path = j->o.save,
                              .seconds = pl_clock_now() - start });
    return true;
}

static bool train_step(runner *r, int64_t step, pl_err *err)
{
    double start = pl_clock_now();
    fill_inputs(r, TRAIN, step);
    PL_TRY(pl_exec_step(r->exec, TRAIN, err));
    double loss = scalar(r, TRAIN, "loss"), lr = learning_rate(&r->j->o, step);
    tell(r, (pl_train_event){ .what = PL_TOLD_STEP,
                              .step = step + 1,
                              .loss = loss,
                              .lr = lr,
                              .grad_norm = scalar(r, TRAIN, "grad_norm"),
                              .seconds = pl_clock_now() - start,
                              .tokens = r->j->tokens });
    return isfinite(loss) ||
           pl_err_set(err, PL_ERUN,
                      "the loss is not finite at step %lld (learning rate %g): lower --lr",
                      (long long)step + 1, lr);
}

static bool loop(runner *r, pl_err *err)
{
    const pl_train_options *o = &r->j->o;
    int64_t first = o->resume ? r->j->from.manifest.step : 0;
    for (int64_t step = first; step < o->steps; step++) {
        bool last = step + 1 == o->steps;
        PL_TRY(train_step(r, step, err));
        if (last || (o->eval_every > 0 && (step + 1) % o->eval_every == 0))
            PL_TRY(evaluate(r, step + 1, err));
        if (o->save && (last || (o->save_every > 0 && (step + 1) % o->save_every == 0)))
            PL_TRY(save(r, step + 1, err));
    }
    if (o->save && o->steps == 0) PL_TRY(save(r, 0, err));
    return true;
}

static bool start(runner *r, pl_comm *comm, pl_arena *arena, pl_err *err)
{
    const pl_train_job *j = r->j;
    const pl_lower_options options = { .bucket_bytes = j->o.bucket_bytes };
    r->store = pl_store_new(j->plan[TRAIN], r->rank, arena);
    for (int i = 0; i < 2; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(j->plan[i], r->rank, r->store, &options, arena, &p, err));
        r->program[i] = p;
    }
    PL_TRY(pl_exec_new(&j->o.exec, comm, 2, r->program, arena, &r->exec, err));
    bool ok = j->o.exec.backends[0]->dry ||
              (j->o.resume ? pl_state_load(r->exec, r->store, &j->from, err)
                           : pl_state_init(r->exec, r->store, j->o.seed, err));
    if (pl_exec_agree(r->exec, err) && ok) return true; /* no rank starts unless all can */
    pl_exec_free(r->exec);
    return false;
}

bool pl_train_run(const pl_train_job *j, pl_comm *comm,
                  void (*teller)(void *, const pl_train_event *), void *to, pl_err *err)
{
    runner r = { .j = j, .rank = comm ? comm->rank : 0, .tell = teller, .to = to, .below = 256 };
    if (pl_model_has(&j->args, "classes")) r.below = pl_model_int(&j->args, "classes");
    if (pl_model_has(&j->args, "vocab")) r.below = pl_model_int(&j->args, "vocab");
    pl_arena *arena = pl_arena_new("rank");
    bool ok = start(&r, comm, arena, err);
    if (ok) {
        pl_exec_stats s = pl_exec_stats_get(r.exec);
        tell(&r,
             (pl_train_event){
                 .what = PL_TOLD_START, .stats = &s, .program = r.program[TRAIN], .exec = r.exec });
        ok = loop(&r, err);
        s = pl_exec_stats_get(r.exec);
        tell(&r, (pl_train_event){ .what = PL_TOLD_END, .stats = &s, .exec = r.exec });
        pl_exec_free(r.exec);
    }
    pl_arena_free(arena);
    return ok;
}
