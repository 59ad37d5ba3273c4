/* The loop of a rank. Read pl_train_run() at the end and run_steps(): a step, then what follows
 * it (end_step), which all ranks have agreed on. */
#include "train/train.h"

#include "base/clock.h"
#include "train/runner.h"

#include <math.h>

enum { STEP = PL_TRAIN_STEP };

/* A rank under way. */
typedef struct loop {
    pl_runner run;
    const pl_train_job *job;
    int rank;
    void (*tell)(void *, const pl_train_event *);
    void *to;
    bool saved;      /* a checkpoint of this run is there        */
    int64_t kept;    /* steps in the newest checkpoint           */
    double saved_at; /* the last one, or the start, on the clock */
    pl_auc scored;   /* rows of an evaluation                    */
    int stopped;     /* the signal that ends the run             */
} loop;

/* What a rank wishes at the end of a step; the largest wish is granted. */
enum { WISH_NONE, WISH_SAVE, WISH_STOP }; /* WISH_STOP + the signal */

static int wish(void *of)
{
    const loop *r = of;
    const pl_train_options *options = &r->job->options;
    int stop = options->stop ? atomic_load(options->stop) : 0;
    if (stop) return WISH_STOP + stop;
    bool due = r->rank == 0 && options->save && options->save_seconds > 0 &&
               pl_clock_now() - r->saved_at >= options->save_seconds;
    return due ? WISH_SAVE : WISH_NONE;
}

/* Do all ranks end here? */
static bool is_stopped(loop *r)
{
    int w = pl_exec_wish(r->run.exec);
    if (w > WISH_STOP) r->stopped = w - WISH_STOP;
    return r->stopped != 0;
}

static void tell(loop *r, pl_train_event e)
{
    if (r->rank == 0 && r->tell) r->tell(r->to, &e);
}

const char *const pl_train_share_names[] = { "accuracy", "dropped", "unused_experts" };
_Static_assert(sizeof pl_train_share_names / sizeof *pl_train_share_names == PL_N_SHARES, "names");

static bool evaluate(loop *r, pl_err *err)
{
    pl_train_event e = { .what = PL_TOLD_EVAL, .step = r->run.done };
    double sum = 0;
    int64_t n = r->job->options.eval_batches * r->job->options.micro;
    if (n < 1) return true;
    r->scored.n = 0;
    for (int64_t i = 0; i < n; i++) {
        double loss;
        PL_TRY(pl_runner_evaluate(&r->run, i, &loss, &r->scored, err));
        if (is_stopped(r)) return true; /* what is not whole is not told */
        sum += loss;
        for (int k = 0; k < PL_N_SHARES; k++)
            e.share[k] +=
                pl_runner_scalar(&r->run, PL_TRAIN_EVAL, pl_train_share_names[k]) / (double)n;
    }
    e.loss = sum / (double)n;
    e.auc = r->scored.n ? pl_auc_find(&r->scored) : -1;
    tell(r, e);
    return true;
}

static bool save(loop *r, pl_err *err)
{
    double start = pl_clock_now();
    PL_TRY(pl_runner_save(&r->run, r->job->options.overwrite && !r->saved, err));
    r->saved = true;
    r->kept = r->run.done;
    r->saved_at = pl_clock_now();
    tell(r, (pl_train_event){ .what = PL_TOLD_SAVE,
                              .step = r->run.done,
                              .path = r->job->options.save,
                              .seconds = pl_clock_now() - start });
    return true;
}

static bool train_step(loop *r, pl_err *err)
{
    const pl_train_job *job = r->job;
    double start = pl_clock_now(), lr = pl_rate_at(&job->rate, r->run.done), loss;
    PL_TRY(pl_runner_step(&r->run, &loss, err));
    tell(r, (pl_train_event){ .what = PL_TOLD_STEP,
                              .step = r->run.done,
                              .loss = loss,
                              .n_parts = r->run.n_parts,
                              .part = r->run.part,
                              .lr = lr,
                              .grad_norm = pl_runner_scalar(&r->run, STEP, "grad_norm"),
                              .seconds = pl_clock_now() - start,
                              .tokens = job->tokens });
    return isfinite(loss) ||
           pl_err_set(err, PL_ERUN,
                      "the loss is not finite at step %lld (learning rate %g): lower --lr",
                      (long long)r->run.done, lr);
}

static bool is_every(int64_t n, int64_t step)
{
    return n > 0 && step % n == 0;
}

/* What follows a step. Whether the clock wants a checkpoint, and whether this is the end, the ranks
 * have agreed on. */
static bool end_step(loop *r, bool last, pl_err *err)
{
    const pl_train_options *options = &r->job->options;
    const int64_t done = r->run.done;
    bool due =
        last || is_every(options->save_every, done) || pl_exec_wish(r->run.exec) == WISH_SAVE;
    if (!is_stopped(r) && (last || is_every(options->eval_every, done))) PL_TRY(evaluate(r, err));
    return !options->save || !(due || r->stopped) || save(r, err);
}

static bool run_steps(loop *r, pl_err *err)
{
    const pl_train_options *options = &r->job->options;
    r->kept = r->run.done;
    r->saved_at = pl_clock_now();
    while (r->run.done < options->steps && !r->stopped) {
        PL_TRY(train_step(r, err));
        PL_TRY(end_step(r, r->run.done == options->steps, err));
    }
    return !options->save || options->steps > 0 || save(r, err);
}

/* False: there is nothing to hand over; else the arena is the record's. */
static bool hand_over(const loop *r)
{
    pl_train_times x = { .program = r->run.program[STEP] };
    if (!r->job->options.record) return false;
    pl_train_record *to = &r->job->options.record[r->rank - r->job->options.rank];
    if (!pl_exec_times(r->run.exec, STEP, &x.begin, &x.end)) return false;
    *to = (pl_train_record){ r->run.arena, x };
    return true;
}

bool pl_train_run(const pl_train_job *job, pl_comm *comm,
                  void (*teller)(void *, const pl_train_event *), void *to, int *stopped,
                  pl_err *err)
{
    loop r = { .job = job, .rank = comm ? comm->rank : 0, .tell = teller, .to = to };
    if (stopped) *stopped = 0;
    PL_TRY(pl_runner_open(&r.run, job, comm, wish, &r, err));
    pl_exec_stats s = pl_exec_stats_get(r.run.exec);
    pl_train_event e = { .what = PL_TOLD_START,
                         .stats = &s,
                         .exec = r.run.exec,
                         .program = r.run.program,
                         .n_programs = job->n_programs,
                         .micro = pl_runner_micro(&r.run) };
    tell(&r, e);
    const bool ok = run_steps(&r, err);
    s = pl_exec_stats_get(r.run.exec);
    e.what = PL_TOLD_END;
    e.step = r.run.done;
    e.stopped = r.stopped;
    e.ok = ok;
    const pl_cache_stats cached =
        r.run.caches ? pl_caches_stats(r.run.caches) : (pl_cache_stats){ 0 };
    if (r.run.caches) e.cached = &cached;
    e.path = r.saved && r.kept == r.run.done ? job->options.save : NULL;
    tell(&r, e);
    if (ok && hand_over(&r)) r.run.arena = NULL;
    pl_runner_close(&r.run);
    if (stopped) *stopped = r.stopped;
    return ok;
}
