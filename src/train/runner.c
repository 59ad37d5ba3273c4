#include "train/runner.h"

#include "run/save.h"

#include <math.h>

enum { STEP = PL_TRAIN_STEP, EVAL = PL_TRAIN_EVAL, UPDATE = PL_TRAIN_UPDATE };

/* -- making ------------------------------------------------------------------------------------ */

/* The last graph has all states: with micro-batches, what the update reads is more than what the
 * step does. */
static bool lower(pl_runner *r, int *n_programs, pl_err *err)
{
    const pl_train_job *j = r->job;
    const pl_plan *all = j->plan[j->n_programs > UPDATE ? UPDATE : STEP];
    int n = j->n_programs, n_gathers = 0;
    r->store = pl_store_new(all, r->rank, r->arena);
    if (j->o.save) {
        PL_TRY(pl_state_gather(all, r->store, r->rank, r->arena, &r->gather, err));
        n_gathers = r->gather->n;
    }
    *n_programs = n + n_gathers;
    r->program = PL_NEW_N(r->arena, const pl_program *, *n_programs);
    for (int i = 0; i < n; i++) {
        pl_program *p;
        PL_TRY(
            pl_program_lower(j->plan[i], r->rank, r->store, &j->o.plan.lower, r->arena, &p, err));
        r->program[i] = p;
    }
    for (int i = 0; i < n_gathers; i++) r->program[n + i] = r->gather->program[i];
    return true;
}

static bool start(pl_runner *r, pl_comm *comm, int (*wish)(void *of), void *of, pl_err *err)
{
    const pl_train_job *j = r->job;
    int n = 0;
    bool made = lower(r, &n, err);
    if (comm) made = pl_comm_agree(comm, err);
    if (!made) return false;
    if (comm) PL_TRY(pl_exec_match(comm, j->n_programs, r->program, err));
    pl_exec_options options = j->o.exec;
    options.wish = wish, options.wish_of = of;
    options.record = j->o.record != NULL;
    if (!pl_exec_new(&options, comm, n, r->program, r->arena, &r->exec, err))
        return comm ? pl_comm_agree(comm, err) : false;
    pl_init from = { .seed = j->o.seed, .file = pl_init_model(&j->args) };
    if (j->o.weights) from.weights = pl_weights_source(&j->weights);
    bool ok = j->o.resume ? pl_state_load(r->exec, r->store, &j->from, err)
                          : pl_state_init(r->exec, r->store, &from, err);
    if (pl_exec_agree(r->exec, err) && ok) return true; /* no rank starts unless all can */
    pl_exec_free(r->exec);
    return false;
}

bool pl_runner_open(pl_runner *r, const pl_train_job *j, pl_comm *comm, int (*wish)(void *of),
                    void *of, pl_err *err)
{
    const int64_t labels = pl_model_labels(&j->args);
    *r = (pl_runner){ .job = j,
                      .rank = comm ? comm->rank : 0,
                      .arena = pl_arena_new("rank"),
                      .below = labels ? labels : 256,
                      .done = j->o.resume ? j->from.manifest.step : 0 };
    if (start(r, comm, wish, of, err)) return true;
    pl_arena_free(r->arena);
    *r = (pl_runner){ 0 };
    return false;
}

void pl_runner_close(pl_runner *r)
{
    if (r->exec) pl_exec_free(r->exec);
    pl_arena_free(r->arena);
    *r = (pl_runner){ 0 };
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Linear warm-up, then a cosine to lr_min (Loshchilov & Hutter, 2017, without restarts). */
double pl_runner_rate(const pl_train_options *o, int64_t step)
{
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)(o->warmup + 1);
    double left = (double)(o->steps - o->warmup),
           at = left > 0 ? (double)(step - o->warmup) / left : 1;
    return o->lr_min + 0.5 * (o->lr - o->lr_min) * (1 + cos(3.141592653589793 * (at < 1 ? at : 1)));
}

/* Micro-batch k of a step reads rows k of `micro` shares of its batch; drawn numbers are its own.
 * step < 0: a validation batch. */
static void fill_inputs(pl_runner *r, int which, int64_t step, int64_t k)
{
    const pl_program *p = r->program[which];
    const pl_train_options *o = &r->job->o;
    const pl_feed f = { .data = &r->job->data,
                        .seed = o->seed,
                        .lr = pl_runner_rate(o, step),
                        .step = step + 1,
                        .draw = step < 0 ? step : step * o->micro + k,
                        .n_valid = o->eval_batches * o->micro,
                        .below = r->below };
    for (int i = 0; i < p->n_inputs; i++) {
        void *to = pl_exec_map(r->exec, &p->input[i], PL_WRITE);
        if (to) pl_data_feed(&f, &p->input[i], to);
        pl_exec_unmap(r->exec, &p->input[i], PL_WRITE, to);
    }
}

double pl_runner_scalar(const pl_runner *r, int which, const char *name)
{
    const pl_program *p = r->program[which];
    const pl_port *x = pl_port_find(p->n_outputs, p->output, name);
    float y = -1;
    if (x) pl_exec_get(r->exec, x, &y, sizeof y);
    return (double)y;
}

bool pl_runner_step(pl_runner *r, double *loss, pl_err *err)
{
    const int64_t step = r->done;
    int64_t n = r->job->o.micro;
    double sum = 0;
    if (n > 1) pl_state_clear(r->exec, r->store);
    for (int64_t k = 0; k < n; k++) {
        fill_inputs(r, STEP, step, k);
        PL_TRY(pl_exec_step(r->exec, STEP, err));
        sum += pl_runner_scalar(r, STEP, "loss");
    }
    *loss = sum / (double)n;
    if (n > 1) {
        fill_inputs(r, UPDATE, step, 0);
        PL_TRY(pl_exec_step(r->exec, UPDATE, err));
    }
    r->done++;
    return true;
}

bool pl_runner_evaluate(pl_runner *r, int64_t i, double *loss, pl_err *err)
{
    fill_inputs(r, EVAL, -1 - i, 0);
    PL_TRY(pl_exec_step(r->exec, EVAL, err));
    *loss = pl_runner_scalar(r, EVAL, "loss");
    return true;
}

bool pl_runner_save(pl_runner *r, bool alone, pl_err *err)
{
    const pl_train_job *j = r->job;
    const pl_manifest m = { .model = j->spec,
                            .step = r->done,
                            .seed = j->o.seed,
                            .data_step = r->done,
                            .data = j->o.data,
                            .data_bytes = j->data.n_bytes,
                            .data_hash = j->data.hash ? j->data.hash : "",
                            .settings = j->settings,
                            .run = j->run };
    const pl_keep keep = { j->o.keep, alone };
    return pl_state_save(r->exec, r->gather, j->n_programs, j->o.save, &m, keep, err);
}
