/* Runs: each device of a plan is a thread that waits for what to do next. The caller's thread says
 * that, and waits until all of them, or the one that it asked, have done it. */
#include "api/context.h"
#include "api/launch.h"
#include "backends/local/local.h"
#include "base/clock.h"
#include "train/runner.h"
#include "train/step.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

typedef struct rank {
    pl_run *run;
    pl_comm *comm; /* NULL: there is one alone */
    int number;
    pl_runner runner;
    pthread_t thread;
    pl_err err;
    bool ok;
    double loss;
} rank;

/* A batch in the caller's terms. */
typedef struct input {
    const pl_value *value;
    size_t bytes;
    void *data; /* NULL: not fed yet */
} input;

struct pl_run {
    pl_context *context;
    pl_run *next;
    pl_arena *arena;
    pl_train_job *job;
    int n, n_inputs, n_states;
    rank *rank;
    input *input;
    const pl_port **state; /* of rank 0 */
    bool fed, dead;        /* dead: a device failed */
    pthread_mutex_t lock;
    pthread_cond_t turn;
    bool (*work)(rank *r, pl_err *err); /* NULL: the end */
    int asked;                          /* the rank that works; -1: all */
    int64_t round;                      /* of work given */
    int busy;                           /* ranks at it */
};

/* -- ranks ------------------------------------------------------------------------------------- */

static bool (*next_work(rank *r, int64_t *seen))(rank *r, pl_err *err)
{
    pl_run *run = r->run;
    pthread_mutex_lock(&run->lock);
    for (;;) {
        while (run->round == *seen) pthread_cond_wait(&run->turn, &run->lock);
        *seen = run->round;
        if (run->asked < 0 || run->asked == r->number) break;
    }
    bool (*work)(rank *, pl_err *) = run->work;
    pthread_mutex_unlock(&run->lock);
    return work;
}

static void end_work(rank *r)
{
    pl_run *run = r->run;
    pthread_mutex_lock(&run->lock);
    if (--run->busy == 0) pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->lock);
}

/* Signals are the caller's, and so is the thread that they come to. (oneDNN before 3.11.2 writes
 * over the heap where a handler runs amid one of its products: its issue 4845.) */
static void *serve(void *arg)
{
    rank *r = arg;
    int64_t seen = 0;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (bool (*work)(rank *, pl_err *); (work = next_work(r, &seen)); end_work(r)) {
        r->ok = work(r, &r->err);
        if (!r->ok && r->comm) r->comm->ops->abort(r->comm, (int)r->err.code);
    }
    if (r->runner.exec) pl_runner_close(&r->runner);
    end_work(r);
    return NULL;
}

/* Have rank `asked` (-1: all) work, and wait for it. The error is that of the lowest that failed.
 * */
static bool ask(pl_run *run, int asked, bool (*work)(rank *r, pl_err *err), pl_err *err)
{
    pthread_mutex_lock(&run->lock);
    run->work = work;
    run->asked = asked;
    run->busy = asked < 0 ? run->n : 1;
    run->round++;
    pthread_cond_broadcast(&run->turn);
    while (run->busy) pthread_cond_wait(&run->turn, &run->lock);
    pthread_mutex_unlock(&run->lock);
    for (int i = 0; i < run->n && work; i++)
        if (!run->rank[i].ok) {
            *err = run->rank[i].err;
            run->dead = true;
            return false;
        }
    return true;
}

static bool open_rank(rank *r, pl_err *err)
{
    return pl_runner_open(&r->runner, r->run->job, r->comm, NULL, NULL, err);
}

/* Threads that are there, a rank each; the caller is told when one cannot be started. */
static bool start_ranks(pl_run *run, double timeout, pl_err *err)
{
    pl_comm *comm[PL_LOCAL_RANKS] = { NULL };
    if (run->n > 1) PL_TRY(pl_local_new(run->n, timeout, comm, err));
    run->rank = PL_NEW_N(run->arena, rank, run->n);
    for (int i = 0; i < run->n; i++) {
        rank *r = &run->rank[i];
        *r = (rank){ .run = run, .comm = comm[i], .number = i, .ok = true };
        const int rc = pthread_create(&r->thread, NULL, serve, r);
        if (!rc) continue;
        run->n = i;
        for (int k = i; k < PL_LOCAL_RANKS && comm[k]; k++) pl_comm_free(comm[k]);
        return pl_err_set(err, PL_ERUN, "cannot start the thread of device %d: %s", i,
                          strerror(rc));
    }
    return ask(run, -1, open_rank, err);
}

/* -- options ----------------------------------------------------------------------------------- */

static bool read_options(const pl_run_options *given, pl_run_options *out, pl_err *err)
{
    static const pl_run_options usual = PL_RUN_OPTIONS;
    *out = usual;
    PL_TRY(pl_context_options(given, "pl_run_options", "PL_RUN_OPTIONS", sizeof *out, out, err));
    if (!(out->lr > 0)) out->lr = usual.lr;
    if (out->steps <= 0) out->steps = usual.steps;
    if (!(out->timeout > 0)) out->timeout = 120;
    return true;
}

/* The plan as a file would have it: the job's own graph gets the same. */
static bool use_plan(const pl_held_plan *h, pl_arena *arena, pl_strategy *s, pl_err *err)
{
    pl_text t = { .arena = arena };
    pl_plan_file *f = PL_NEW(arena, pl_plan_file);
    pl_job_write(&h->job, h->found, &t);
    PL_TRY(pl_plan_file_read(t.at, t.n, arena, f, err));
    *s = (pl_strategy){ .text = "plan",
                        .devices = pl_mesh_ranks(&h->plan.mesh),
                        .plan_path = "plan",
                        .file = f,
                        .mesh = f->mesh,
                        .cluster = f->cluster,
                        .micro = f->micro,
                        .masters = f->masters };
    return true;
}

static size_t bytes_of(const pl_value *v)
{
    return (size_t)pl_value_bytes(v);
}

/* Micro-batches lie one after another, unless the input is the same for all of them. */
static const void *find_fed(void *of, const char *name, int64_t k)
{
    const pl_run *run = of;
    for (int i = 0; i < run->n_inputs; i++) {
        const input *x = &run->input[i];
        const size_t bytes = bytes_of(x->value);
        if (strcmp(x->value->name, name) != 0) continue;
        return (const char *)x->data + (x->bytes > bytes ? (size_t)k * bytes : 0);
    }
    return NULL;
}

static bool make_job(pl_run *run, const pl_held_plan *h, const pl_run_options *o, pl_err *err)
{
    const char *backend = o->backend ? o->backend : "auto";
    pl_train_options t = { .args = &h->model->args,
                           .plan = h->job.request,
                           .data = o->data,
                           .words = o->words,
                           .augment = o->augment,
                           .train_share = 0.9,
                           .weights = o->weights,
                           .steps = o->steps,
                           .optim = pl_job_optim(&h->job),
                           .lr = o->lr,
                           .lr_min = o->lr_min,
                           .lr_schedule = o->lr_schedule,
                           .warmup = o->warmup,
                           .seed = o->seed,
                           .policy = pl_cache_policy_find(PL_CACHE_USUAL),
                           .ahead = PL_CACHE_AHEAD,
                           .eval_batches = 1,
                           .save = o->save,
                           .keep = 3,
                           .resume = o->resume };
    t.exec.env.n_threads = pl_launch_threads(o->threads, run->n);
    t.exec.backends = pl_launch_backends(backend, &t.exec.n_backends, err);
    if (!t.exec.backends) return false;
    if (!o->data) t.fed = (pl_fed){ find_fed, run };
    run->fed = !o->data;
    return use_plan(h, run->arena, &t.plan.strategy, err) &&
           pl_train_new(&t, run->n, run->arena, &run->job, err);
}

/* What can be fed, of a whole batch, and the states that there are. */
static bool list_tensors(pl_run *run, pl_err *err)
{
    const pl_graph *g = pl_train_graph(run->job);
    pl_graph *whole;
    PL_TRY(pl_step_graph(&(pl_trained){ &run->job->args, &run->job->options.optim }, 1, run->arena,
                         &whole, err));
    const pl_store *s = run->rank->runner.store;
    run->input = PL_NEW_N(run->arena, input, g->values.n + 1);
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_INPUT || pl_data_is_scalar(v->name)) continue;
        run->input[run->n_inputs++] = (input){ v, bytes_of(pl_graph_find(whole, v->name)) };
    }
    run->state = PL_NEW_N(run->arena, const pl_port *, s->n + 1);
    for (int i = 0; i < s->n; i++)
        if (pl_state_is_saved(s->state[i].value)) run->state[run->n_states++] = &s->state[i];
    return true;
}

/* -- the calls --------------------------------------------------------------------------------- */

pl_run *pl_run_new(const pl_plan *p, const pl_run_options *options)
{
    const pl_held_plan *h = pl_held_plan_of(p);
    pl_err *err = pl_context_begin(h->context);
    pl_run_options o;
    pl_arena *arena = pl_arena_new("run");
    pl_run *run = PL_NEW(arena, pl_run);
    *run = (pl_run){ .context = h->context, .arena = arena, .next = h->context->runs };
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->turn, NULL);
    h->context->runs = run;
    bool ok = read_options(options, &o, err);
    if (ok && pl_launch_started())
        ok = pl_err_set(err, PL_EUNSUPPORTED,
                        "a run is threads of one process, and a launcher started this one: pleat "
                        "train runs under mpirun");
    if (ok && pl_plan_devices(p) > PL_LOCAL_RANKS)
        ok = pl_err_set(err, PL_EUSAGE, "a plan for %d devices: a run has at most %d",
                        pl_plan_devices(p), PL_LOCAL_RANKS);
    run->n = ok ? pl_plan_devices(p) : 0;
    ok = ok && make_job(run, h, &o, err) && start_ranks(run, o.timeout, err) &&
         list_tensors(run, err);
    if (ok) return run;
    pl_run_free(run);
    return NULL;
}

void pl_run_free(pl_run *run)
{
    if (!run) return;
    pl_run **at = &run->context->runs;
    while (*at != run) at = &(*at)->next;
    *at = run->next;
    if (run->rank && run->n) (void)ask(run, -1, NULL, NULL);
    for (int i = 0; run->rank && i < run->n; i++) {
        pthread_join(run->rank[i].thread, NULL);
        if (run->rank[i].comm) pl_comm_free(run->rank[i].comm);
    }
    if (run->job) pl_train_free(run->job);
    pthread_cond_destroy(&run->turn);
    pthread_mutex_destroy(&run->lock);
    pl_arena_free(run->arena);
}

/* Begin a call: false when the run is over. */
static bool begin(const pl_run *run, pl_err **err)
{
    *err = pl_context_begin(run->context);
    return !run->dead || pl_err_set(*err, PL_ERUN, "a device of this run failed: free it");
}

bool pl_run_feed(pl_run *run, const char *name, const void *data, size_t bytes)
{
    pl_err *err;
    pl_text names = { .arena = run->arena };
    PL_TRY(begin(run, &err));
    if (!run->fed)
        return pl_err_set(err, PL_EUSAGE, "this run reads data of its own: it cannot be fed");
    for (int i = 0; i < run->n_inputs; i++) {
        input *x = &run->input[i];
        pl_text_add(&names, "%s%s", i ? ", " : "", x->value->name);
        if (strcmp(x->value->name, name) != 0) continue;
        if (bytes != x->bytes)
            return pl_err_set(err, PL_EUSAGE, "input '%s' has %zu bytes, not %zu", name, x->bytes,
                              bytes);
        if (!x->data) x->data = pl_arena_get(run->arena, bytes, 1);
        memcpy(x->data, data, bytes);
        return true;
    }
    return pl_err_set(err, PL_EUSAGE, "there is no input '%s'; there are: %s", name,
                      pl_text_get(&names));
}

static bool is_fed(const pl_run *run, pl_err *err)
{
    for (int i = 0; i < run->n_inputs && run->fed; i++)
        if (!run->input[i].data)
            return pl_err_set(err, PL_EUSAGE, "input '%s' was never fed: pl_run_feed",
                              run->input[i].value->name);
    return true;
}

static bool step(rank *r, pl_err *err)
{
    return pl_runner_step(&r->runner, &r->loss, err);
}

bool pl_run_step(pl_run *run, pl_step_result *result)
{
    pl_err *err;
    const double start = pl_clock_now();
    if (!begin(run, &err) || !is_fed(run, err)) return false;
    pl_runner *first = &run->rank->runner;
    const double lr = pl_rate_at(&run->job->rate, first->done);
    PL_TRY(ask(run, -1, step, err));
    const double loss = run->rank->loss;
    const double norm = pl_runner_scalar(first, PL_TRAIN_STEP, "grad_norm");
    if (result) *result = (pl_step_result){ first->done, loss, lr, norm, pl_clock_now() - start };
    if (isfinite(loss)) return true;
    run->dead = true;
    return pl_err_set(err, PL_ERUN, "the loss is not finite at step %lld (learning rate %g)",
                      (long long)first->done, lr);
}

/* All of the batch. */
static bool evaluate(rank *r, pl_err *err)
{
    const int64_t micro = r->runner.job->options.micro;
    double sum = 0, loss;
    for (int64_t k = 0; k < micro; k++) {
        PL_TRY(pl_runner_evaluate(&r->runner, k, &loss, NULL, err));
        sum += loss;
    }
    r->loss = sum / (double)micro;
    return true;
}

bool pl_run_evaluate(pl_run *run, double *loss)
{
    pl_err *err;
    if (!begin(run, &err) || !is_fed(run, err) || !ask(run, -1, evaluate, err)) return false;
    *loss = run->rank->loss;
    return true;
}

static bool save(rank *r, pl_err *err)
{
    return pl_runner_save(&r->runner, false, err);
}

bool pl_run_save(pl_run *run)
{
    pl_err *err;
    PL_TRY(begin(run, &err));
    if (!run->job->options.save)
        return pl_err_set(err, PL_EUSAGE, "this run has no folder: pl_run_options.save");
    return ask(run, -1, save, err);
}

/* -- states ------------------------------------------------------------------------------------ */

int pl_run_states(const pl_run *run)
{
    return run->n_states;
}

const char *pl_run_state(const pl_run *run, int i, size_t *bytes)
{
    if (i < 0 || i >= run->n_states) return NULL;
    if (bytes) *bytes = bytes_of(run->state[i]->value);
    return pl_graph_known(run->state[i]->value)->name;
}

static bool find_state(const pl_run *run, const char *name, size_t bytes, pl_err *err)
{
    for (int i = 0; i < run->n_states; i++) {
        const pl_value *v = run->state[i]->value;
        if (strcmp(pl_graph_known(v)->name, name) != 0) continue;
        return bytes == bytes_of(v) ||
               pl_err_set(err, PL_EUSAGE, "state '%s' has %zu bytes, not %zu", name, bytes_of(v),
                          bytes);
    }
    return pl_err_set(err, PL_EUSAGE, "there is no state '%s' among the %d of this run", name,
                      run->n_states);
}

/* One device after the other, as several have the same elements. */
static void move_part(const pl_runner *r, const pl_port *p, const void *from, void *to)
{
    const pl_access how = from ? PL_WRITE : PL_READ;
    void *part = pl_exec_map(r->exec, p, how);
    if (part && from) pl_state_take(p, from, part);
    if (part && to) pl_port_give(p, part, to);
    pl_exec_unmap(r->exec, p, how, part);
}

/* A master is written together with its weight. */
static void move_state(pl_run *run, const char *name, const void *from, void *to)
{
    for (int i = 0; i < run->n; i++) {
        const pl_runner *r = &run->rank[i].runner;
        for (int k = 0; k < r->store->n; k++) {
            const pl_port *p = &r->store->state[k];
            if (strcmp(pl_graph_known(p->value)->name, name) != 0) continue;
            if (from || pl_state_is_saved(p->value)) move_part(r, p, from, to);
        }
    }
}

bool pl_run_read(pl_run *run, const char *name, void *to, size_t bytes)
{
    pl_err *err;
    if (!begin(run, &err) || !find_state(run, name, bytes, err)) return false;
    move_state(run, name, NULL, to);
    return true;
}

bool pl_run_write(pl_run *run, const char *name, const void *from, size_t bytes)
{
    pl_err *err;
    if (!begin(run, &err) || !find_state(run, name, bytes, err)) return false;
    move_state(run, name, from, NULL);
    return true;
}
