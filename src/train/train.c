#include "train/train.h"

#include "base/clock.h"
#include "run/save.h"
#include "train/job.h"
#include "train/state.h"

#include <math.h>

enum { STEP = PL_TRAIN_STEP, EVAL = PL_TRAIN_EVAL, UPDATE = PL_TRAIN_UPDATE };

typedef struct runner {
    const pl_train_job *j;
    pl_exec *exec;
    const pl_store *store;
    const pl_gather *gather;    /* NULL: nothing is saved                          */
    const pl_program **program; /* of the job, then of the gather                  */
    int rank;
    void (*tell)(void *, const pl_train_event *);
    void *to;
    int64_t below;      /* synthetic integers */
    bool saved;         /* a checkpoint of this run is there        */
    int64_t done, kept; /* steps: done; in the newest checkpoint    */
    double saved_at;    /* the last one, or the start, on the clock */
    int stopped;        /* the signal that ends the run             */
} runner;

/* What a rank wishes at the end of a step; the largest wish is granted. */
enum { WISH_NONE, WISH_SAVE, WISH_STOP }; /* WISH_STOP + the signal */

static int wish(void *of)
{
    const runner *r = of;
    const pl_train_options *o = &r->j->o;
    int stop = o->stop ? atomic_load(o->stop) : 0;
    if (stop) return WISH_STOP + stop;
    bool due = r->rank == 0 && o->save && o->save_seconds > 0 &&
               pl_clock_now() - r->saved_at >= o->save_seconds;
    return due ? WISH_SAVE : WISH_NONE;
}

/* Do all ranks end here? */
static bool is_stopped(runner *r)
{
    int w = pl_exec_wish(r->exec);
    if (w > WISH_STOP) r->stopped = w - WISH_STOP;
    return r->stopped != 0;
}

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

/* Micro-batch k of a step reads rows k of `micro` shares of its batch; drawn numbers are its own.
 * step < 0: a validation batch. */
static void fill_inputs(runner *r, int which, int64_t step, int64_t k)
{
    const pl_program *p = r->program[which];
    const pl_train_options *o = &r->j->o;
    const pl_feed f = { .data = &r->j->data,
                        .seed = o->seed,
                        .lr = learning_rate(o, step),
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

static double scalar(const runner *r, int which, const char *name)
{
    const pl_program *p = r->program[which];
    const pl_port *x = pl_port_find(p->n_outputs, p->output, name);
    float y = -1;
    if (x) pl_exec_get(r->exec, x, &y, sizeof y);
    return (double)y;
}

static bool evaluate(runner *r, int64_t step, pl_err *err)
{
    double sum = 0;
    int64_t n = r->j->o.eval_batches * r->j->o.micro;
    if (n < 1) return true;
    for (int64_t i = 0; i < n; i++) {
        fill_inputs(r, EVAL, -1 - i, 0);
        PL_TRY(pl_exec_step(r->exec, EVAL, err));
        if (is_stopped(r)) return true; /* what is not whole is not told */
        sum += scalar(r, EVAL, "loss");
    }
    tell(r, (pl_train_event){ .what = PL_TOLD_EVAL, .step = step, .loss = sum / (double)n });
    return true;
}

static bool save(runner *r, int64_t step, pl_err *err)
{
    const pl_train_job *j = r->j;
    const pl_manifest m = { .model = j->spec,
                            .step = step,
                            .seed = j->o.seed,
                            .data_step = step,
                            .data = j->o.data,
                            .data_bytes = j->data.n_bytes,
                            .data_hash = j->data.hash ? j->data.hash : "",
                            .settings = j->settings,
                            .run = j->run };
    const pl_keep keep = { j->o.keep, j->o.overwrite && !r->saved };
    double start = pl_clock_now();
    PL_TRY(pl_state_save(r->exec, r->gather, j->n_programs, j->o.save, &m, keep, err));
    r->saved = true;
    r->kept = step;
    r->saved_at = pl_clock_now();
    tell(r, (pl_train_event){ .what = PL_TOLD_SAVE,
                              .step = step,
                              .path = j->o.save,
                              .seconds = pl_clock_now() - start });
    return true;
}

/* Every micro-batch, and the update; *loss is their mean. */
static bool run_step(runner *r, int64_t step, double *loss, pl_err *err)
{
    int64_t n = r->j->o.micro;
    double sum = 0;
    if (n > 1) pl_state_clear(r->exec, r->store);
    for (int64_t k = 0; k < n; k++) {
        fill_inputs(r, STEP, step, k);
        PL_TRY(pl_exec_step(r->exec, STEP, err));
        sum += scalar(r, STEP, "loss");
    }
    *loss = sum / (double)n;
    if (n == 1) return true;
    fill_inputs(r, UPDATE, step, 0);
    return pl_exec_step(r->exec, UPDATE, err);
}

static bool train_step(runner *r, int64_t step, pl_err *err)
{
    double start = pl_clock_now(), lr = learning_rate(&r->j->o, step), loss;
    PL_TRY(run_step(r, step, &loss, err));
    tell(r,
         (pl_train_event){ .what = PL_TOLD_STEP,
                           .step = step + 1,
                           .loss = loss,
                           .lr = lr,
                           .grad_norm = scalar(r, r->j->o.micro > 1 ? UPDATE : STEP, "grad_norm"),
                           .seconds = pl_clock_now() - start,
                           .tokens = r->j->tokens });
    return isfinite(loss) ||
           pl_err_set(err, PL_ERUN,
                      "the loss is not finite at step %lld (learning rate %g): lower --lr",
                      (long long)step + 1, lr);
}

static bool is_every(int64_t n, int64_t step)
{
    return n > 0 && step % n == 0;
}

/* What follows a step. Whether the clock wants a checkpoint, and whether this is the end, the ranks
 * have agreed on. */
static bool end_step(runner *r, bool last, pl_err *err)
{
    const pl_train_options *o = &r->j->o;
    bool due = last || is_every(o->save_every, r->done) || pl_exec_wish(r->exec) == WISH_SAVE;
    if (!is_stopped(r) && (last || is_every(o->eval_every, r->done)))
        PL_TRY(evaluate(r, r->done, err));
    return !o->save || !(due || r->stopped) || save(r, r->done, err);
}

static bool loop(runner *r, pl_err *err)
{
    const pl_train_options *o = &r->j->o;
    r->done = r->kept = o->resume ? r->j->from.manifest.step : 0;
    r->saved_at = pl_clock_now();
    while (r->done < o->steps && !r->stopped) {
        PL_TRY(train_step(r, r->done, err));
        r->done++;
        PL_TRY(end_step(r, r->done == o->steps, err));
    }
    if (o->save && o->steps == 0) PL_TRY(save(r, 0, err));
    return true;
}

/* The last graph has all states: with micro-batches, what the update reads is more than what the
 * step does. */
static bool lower(runner *r, pl_arena *arena, int *n_programs, pl_err *err)
{
    const pl_train_job *j = r->j;
    const pl_plan *all = j->plan[j->n_programs > UPDATE ? UPDATE : STEP];
    int n = j->n_programs, n_gathers = 0;
    r->store = pl_store_new(all, r->rank, arena);
    if (j->o.save) {
        PL_TRY(pl_state_gather(all, r->store, r->rank, arena, &r->gather, err));
        n_gathers = r->gather->n;
    }
    *n_programs = n + n_gathers;
    r->program = PL_NEW_N(arena, const pl_program *, *n_programs);
    for (int i = 0; i < n; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(j->plan[i], r->rank, r->store, &j->o.plan.lower, arena, &p, err));
        r->program[i] = p;
    }
    for (int i = 0; i < n_gathers; i++) r->program[n + i] = r->gather->program[i];
    return true;
}

static bool start(runner *r, pl_comm *comm, pl_arena *arena, pl_err *err)
{
    const pl_train_job *j = r->j;
    int n = 0;
    bool made = lower(r, arena, &n, err);
    if (comm) made = pl_comm_agree(comm, err);
    if (!made) return false;
    if (comm) PL_TRY(pl_exec_match(comm, j->n_programs, r->program, err));
    pl_exec_options options = j->o.exec;
    options.wish = wish, options.wish_of = r;
    options.record = j->o.record != NULL;
    if (!pl_exec_new(&options, comm, n, r->program, arena, &r->exec, err))
        return comm ? pl_comm_agree(comm, err) : false;
    pl_init from = { .seed = j->o.seed, .file = pl_init_model(&j->args) };
    if (j->o.weights) from.weights = pl_weights_source(&j->weights);
    bool ok = j->o.resume ? pl_state_load(r->exec, r->store, &j->from, err)
                          : pl_state_init(r->exec, r->store, &from, err);
    if (pl_exec_agree(r->exec, err) && ok) return true; /* no rank starts unless all can */
    pl_exec_free(r->exec);
    return false;
}

/* False: there is nothing to hand over; else the arena is the record's. */
static bool hand_over(const runner *r, pl_arena *arena)
{
    static const int programs[] = { STEP, UPDATE };
    if (!r->j->o.record) return false;
    pl_train_record *to = &r->j->o.record[r->rank - r->j->o.rank];
    for (int k = 0; k < 2 && programs[k] < r->j->n_programs; k++) {
        pl_train_times x = { .program = r->program[programs[k]] };
        if (pl_exec_times(r->exec, programs[k], &x.begin, &x.end)) to->at[to->n++] = x;
    }
    if (to->n) to->arena = arena;
    return to->n > 0;
}

bool pl_train_run(const pl_train_job *j, pl_comm *comm,
                  void (*teller)(void *, const pl_train_event *), void *to, int *stopped,
                  pl_err *err)
{
    runner r = { .j = j, .rank = comm ? comm->rank : 0, .tell = teller, .to = to, .below = 256 };
    if (pl_model_labels(&j->args)) r.below = pl_model_labels(&j->args);
    pl_arena *arena = pl_arena_new("rank");
    bool ok = start(&r, comm, arena, err), kept = false;
    if (ok) {
        pl_exec_stats s = pl_exec_stats_get(r.exec);
        pl_train_event e = { .what = PL_TOLD_START,
                             .stats = &s,
                             .exec = r.exec,
                             .program = r.program,
                             .n_programs = j->n_programs };
        tell(&r, e);
        ok = loop(&r, err);
        s = pl_exec_stats_get(r.exec);
        e.what = PL_TOLD_END;
        e.step = r.done;
        e.stopped = r.stopped;
        e.ok = ok;
        e.path = r.saved && r.kept == r.done ? j->o.save : NULL;
        tell(&r, e);
        kept = ok && hand_over(&r, arena);
        pl_exec_free(r.exec);
    }
    if (stopped) *stopped = r.stopped;
    if (!kept) pl_arena_free(arena);
    return ok;
}
