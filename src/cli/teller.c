/* The lines of a run, as text or JSON, and what stands around them. */
#include "cli/teller.h"

#include "base/clock.h"
#include "cli/stop.h"
#include "options/request.h"
#include "program/forecast.h"
#include "data/text.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* May a line be printed? One that nobody takes is waited for, as ever, but not by a run that is
 * asked for its end: mpirun reads no more once it has been told to end, and a full pipe must
 * not cost the checkpoint. */
static bool is_heard(const pl_teller *t)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    while (poll(&out, 1, 100) <= 0)
        if (atomic_load(t->o->stop)) return false;
    return true;
}

/* A line is seen when it is printed. Where nobody reads on, a run that saves goes on in silence. */
static void flush(const pl_teller *t)
{
    if (!fflush(stdout) || (errno != EPIPE && errno != EIO) || !t->o->save) return;
    if (!freopen("/dev/null", "w", stdout)) clearerr(stdout);
}

/* One way to print what is no number. */
static double tidy(double x)
{
    return isnan(x) ? fabs(x) : x;
}

/* Seconds that this thread was ready to run so far, and had no core; 0 where nobody counts them. */
static double find_delay(void)
{
    unsigned long long ran, waited = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f) return 0;
    bool found = fscanf(f, "%llu %llu", &ran, &waited) == 2;
    fclose(f);
    return found ? 1e-9 * (double)waited : 0;
}

/* Losses are f32: nine digits give them back. */
static double nine(double x)
{
    return pl_text_round(x, 9);
}

/* A line of JSON, which is an object. */
static pl_json_out begin_json(void)
{
    return pl_json_begin(pl_arena_new("line of JSON"));
}

static void end_json(const pl_teller *t, pl_json_out *out)
{
    puts(pl_json_end(out));
    pl_arena_free(out->text->arena);
    flush(t);
}

static void print_step(const pl_teller *t, const pl_train_event *e)
{
    pl_json_out out = begin_json();
    PL_JSON_PUT(&out, "step", e->step, "loss", nine(e->loss), "lr", nine(e->lr));
    for (int i = 0; i < e->n_parts; i++) {
        const char *key = pl_arena_fmt(out.text->arena, "loss_%s", e->part[i].name);
        pl_json_put_real(&out, key, nine(e->part[i].loss));
    }
    if (!(e->grad_norm < 0)) pl_json_put_real(&out, "grad_norm", nine(e->grad_norm));
    if (t->show->timings)
        PL_JSON_PUT(&out, "seconds", nine(e->seconds), "tokens_per_second",
                    nine((double)e->tokens / e->seconds));
    end_json(t, &out);
}

static void clear_live(pl_teller *t)
{
    if (t->live) fprintf(stderr, "\r\033[K");
    t->live = false;
}

/* Which plan a search has found, and how fast it is by the figures that it searched with. */
static void tell_plan(const pl_teller *t)
{
    const pl_found *b = pl_train_found(t->job);
    pl_request_tell_evict(&t->o->plan, b);
    if (!b->search) return;
    const double seconds = b->take->forecast.step_seconds;
    pl_arena *tmp = pl_arena_new("plan");
    const char *mesh = pl_mesh_text(&b->take->plan->mesh, tmp);
    if (t->show->json) {
        pl_json_out out = begin_json();
        PL_JSON_PUT(&out, "plan", b->take->plan->strategy, "mesh", mesh, "predicted_step_seconds",
                    nine(seconds), "plans", b->n);
        end_json(t, &out);
    }
    fprintf(stderr, "strategy auto took %s on %s: a step is predicted to take %.3f ms\n",
            b->take->searched ? "the search's plan" : b->take->name, mesh, 1e3 * seconds);
    pl_arena_free(tmp);
}

/* How low a layout may be, as far as rank 0, which knows that, is the heaviest; or that it is not
 * the step that takes most. */
static const char *work_note(const pl_train_event *e, pl_arena *a)
{
    const pl_program *p = e->program[PL_TRAIN_STEP];
    if (e->stats->work_bytes != e->stats->most.work) return "";
    return p->work_bytes == e->stats->work_bytes
               ? pl_arena_fmt(a, " (no layout of this order is below %s)",
                              pl_text_size(a, (double)p->work_bound))
               : pl_arena_fmt(a, " (a step alone takes %s)",
                              pl_text_size(a, (double)p->work_bytes));
}

static void tell_memory(const pl_teller *t, const pl_train_event *e)
{
    pl_arena *a = pl_arena_new("memory line");
    const pl_fit *most = &e->stats->most; /* of the heaviest */
    fprintf(stderr, "memory of one device: %s of states, %s of work%s, %s of scratch\n",
            pl_text_size(a, (double)most->state), pl_text_size(a, (double)most->work),
            work_note(e, a), pl_text_size(a, (double)most->scratch));
    const int64_t host = most->host > e->stats->host_bytes ? most->host : e->stats->host_bytes;
    if (host) /* in a file it is none of what the ranks' memory is judged by */
        fprintf(stderr, "in the host's memory, beside that: %s\n", pl_text_size(a, (double)host));
    if (pl_train_tables(t->job))
        fprintf(stderr, "tables, of which devices have caches: %s%s%s\n",
                pl_text_size(a, (double)pl_train_tables(t->job)),
                t->o->exec.host_dir ? " in a file in " : " in the host's memory",
                t->o->exec.host_dir ? t->o->exec.host_dir : "");
    pl_request_tell_host(t->o->exec.host_dir, t->o->exec.host_rate, e->stats->host_bytes,
                         pl_train_tables(t->job));
    pl_arena_free(a);
}

static void tell_start(pl_teller *t, const pl_train_event *e)
{
    pl_arena *a = pl_arena_new("start line");
    const pl_graph *g = pl_train_graph(t->job);
    const char *notes = pl_train_notes(t->job);
    const pl_data *d = pl_train_data(t->job);
    const pl_program *p = e->program[PL_TRAIN_STEP];
    fprintf(stderr, "%s: %lld parameters, %d nodes; %s; %d steps on %d device%s, %d message%s\n",
            pl_train_model(t->job), (long long)pl_graph_params(g), g->nodes.n, p->plan->strategy,
            p->n_steps, p->n_ranks, p->n_ranks > 1 ? "s" : "", p->n_messages,
            p->n_messages == 1 ? "" : "s");
    tell_plan(t);
    if (e->micro)
        fprintf(stderr,
                "that is the last of %lld micro-batches; each before it: %d steps, %d "
                "messages\n",
                (long long)g->micro, e->micro->n_steps, e->micro->n_messages);
    tell_memory(t, e);
    if (*pl_train_weights(t->job)) fprintf(stderr, "%s\n", pl_train_weights(t->job));
    if (*pl_train_doubts(t->job))
        fprintf(stderr,
                "which tensors train is a guess (pleat graph lists them; export with "
                "examples/pleat_export.py):\n%s",
                pl_train_doubts(t->job));
    if (*notes) fprintf(stderr, "resuming with other settings: %s\n", notes);
    if (d->kind == PL_DATA_TENSORS || d->kind == PL_DATA_IMAGES)
        fprintf(stderr, "%s: %lld %s to learn, %lld to validate\n", d->path, (long long)d->n_train,
                d->kind == PL_DATA_IMAGES ? "pictures" : "rows", (long long)(d->n - d->n_train));
    if (d->kind == PL_DATA_TEXT)
        fprintf(stderr,
                "%s: %lld %s to learn, %lld to validate; the %s frequencies of the former "
                "give %.4f nats on the latter\n",
                d->path, (long long)d->n_train, pl_data_text_unit(d),
                (long long)(d->n - d->n_train), d->words ? "word" : "letter",
                pl_data_text_entropy(d));
    if (t->o->resume && !t->o->save)
        fprintf(stderr, "nothing will be saved: --save %s would go on saving there\n",
                t->o->resume);
    if (pl_train_unlocked(t->job))
        fprintf(stderr,
                "%s: this file system has no locks: nothing keeps a second run out of the folder\n",
                t->o->save);
    pl_text out = { .arena = a };
    for (int i = 0; i < e->n_programs; i++) {
        if (i == PL_TRAIN_EVAL) continue;
        if (t->show->explain) pl_exec_explain(e->exec, i, &out);
        if (t->show->program) pl_program_print(e->program[i], &out);
    }
    fputs(pl_text_get(&out), stderr);
    pl_arena_free(a);
}

static void print_line(const pl_teller *t, const pl_train_event *e)
{
    printf("step %lld loss %.6f", (long long)e->step, tidy(e->loss));
    for (int i = 0; i < e->n_parts; i++) printf(" %s %.6f", e->part[i].name, tidy(e->part[i].loss));
    printf(" lr %.4g", e->lr);
    if (!(e->grad_norm < 0)) printf(" grad_norm %.4g", tidy(e->grad_norm));
    if (t->show->timings) printf(" %.4f s", e->seconds);
    printf("\n");
    flush(t);
}

static void tell_step(pl_teller *t, const pl_train_event *e)
{
    double time = pl_clock_now();
    if (!t->steps++)
        t->first_end = time, t->first_step = e->step;
    else
        t->tokens += e->tokens;
    bool told = e->step == t->o->steps || e->step % t->show->log_every == 0;
    if (told) pl_scalars_step(t->scalars, e);
    double rate = t->steps > 1 ? (double)t->tokens / (time - t->first_end) : 0;
    if (t->show->json) {
        if (told && is_heard(t)) print_step(t, e);
        return;
    }
    if (!t->tty) {
        if (told && is_heard(t)) print_line(t, e);
        return;
    }
    if (rate <= 0 || (time - t->shown < 0.2 && e->step != t->o->steps)) return;
    double left = (double)(t->o->steps - e->step) * (double)e->tokens / rate;
    fprintf(stderr, "\r\033[Kstep %lld/%lld  loss %.4f  %.0f %s/s  eta %.0f s", (long long)e->step,
            (long long)t->o->steps, tidy(e->loss), rate, pl_train_unit(t->job), left);
    t->live = true;
    t->shown = time;
}

/* ", unused experts 0.0312" */
static void print_share(const char *name, double share)
{
    printf(", ");
    for (const char *c = name; *c; c++) putchar(*c == '_' ? ' ' : *c);
    printf(" %.4f", tidy(share));
}

static void tell_eval(pl_teller *t, const pl_train_event *e)
{
    const pl_data *d = pl_train_data(t->job);
    const bool bytes = d->kind == PL_DATA_TEXT && !d->words, words = d->words != NULL;
    double bits = e->loss / log(2.0);
    clear_live(t);
    pl_scalars_validation(t->scalars, e);
    if (!is_heard(t)) return;
    if (t->show->json) {
        pl_json_out out = begin_json();
        PL_JSON_PUT(&out, "step", e->step, "validation_loss", nine(e->loss));
        if (bytes) pl_json_put_real(&out, "bits_per_byte", nine(bits));
        if (words) pl_json_put_real(&out, "perplexity", nine(exp(e->loss)));
        if (e->auc >= 0) pl_json_put_real(&out, "auc", nine(e->auc));
        for (int k = 0; k < PL_N_SHARES; k++)
            if (e->share[k] >= 0)
                pl_json_put_real(&out, pl_train_share_names[k], nine(e->share[k]));
        end_json(t, &out);
        return;
    }
    printf("step %lld validation %.4f nats", (long long)e->step, tidy(e->loss));
    if (bytes) printf(", %.4f bits per byte", tidy(bits));
    if (words) printf(", perplexity %.2f", tidy(exp(e->loss)));
    if (e->auc >= 0) printf(", AUC %.4f", tidy(e->auc));
    for (int k = 0; k < PL_N_SHARES; k++)
        if (e->share[k] >= 0) print_share(pl_train_share_names[k], e->share[k]);
    printf("\n");
    flush(t);
}

/* The step as the cluster's figures have it, beside what it took. */
static void tell_forecast(const pl_teller *t, const pl_train_event *e, double measured)
{
    const pl_cluster *c = pl_train_cluster(t->job);
    pl_arena *tmp = pl_arena_new("forecast");
    const pl_speed speed = pl_speed_of(c);
    pl_forecast f;
    pl_forecast_make(e->program[PL_TRAIN_STEP], &speed, tmp, &f);
    const pl_candidate *k = pl_train_found(t->job)->take;
    const double predicted = k->stages ? k->forecast.step_seconds : f.step_seconds;
    fprintf(stderr, "a step took %.3f ms; predicted: %.3f ms (%+.0f %%)%s\n", 1e3 * measured,
            1e3 * predicted, 100 * (predicted / measured - 1),
            t->show->measured ? "" : "; its figures are guesses: pleat probe measures them");
    pl_arena_free(tmp);
}

/* How it ended, for a program that reads the lines. */
static void print_end(const pl_teller *t, const pl_train_event *e, double seconds, double rate)
{
    pl_json_out out = begin_json();
    PL_JSON_PUT(&out, "done",
                e->stopped ? pl_stop_name(e->stopped)
                : e->ok    ? "steps"
                           : "error",
                "step", e->step);
    pl_json_put_real(&out, "seconds", nine(seconds));
    if (rate > 0) pl_json_put_real(&out, "tokens_per_second", nine(rate));
    PL_JSON_PUT(&out, "message_seconds", nine(e->stats->busy_seconds), "waited_seconds",
                nine(e->stats->exposed_seconds), "saved", (bool)(e->path != NULL));
    const pl_cache_stats *c = e->cached;
    if (c)
        PL_JSON_ROW(&out, "cache", "ids", c->lookups, "found", c->hits, "rows_in", c->rows_in,
                    "rows_out", c->rows_out, "rows_written", c->rows_back);
    end_json(t, &out);
}

static void tell_cache(const pl_cache_stats *c)
{
    if (!c->lookups) return;
    fprintf(stderr,
            "caches of tables: %.2f %% of %lld ids found; %lld rows came in, %lld went, %lld of "
            "them changed\n",
            100 * (double)c->hits / (double)c->lookups, (long long)c->lookups,
            (long long)c->rows_in, (long long)c->rows_out, (long long)c->rows_back);
}

static void tell_stop(const pl_train_event *e)
{
    if (!e->stopped || !e->ok) return;
    fprintf(stderr, "stopped by %s: ", pl_stop_name(e->stopped));
    if (e->path)
        fprintf(stderr, "saved step %lld; go on with --resume %s\n", (long long)e->step, e->path);
    else
        fprintf(stderr, "nothing was saved: no --save\n");
}

static void tell_end(pl_teller *t, const pl_train_event *e)
{
    enum { NOTABLE = 5 }; /* percent: below, a forecast is off for other reasons */
    const pl_exec_stats *s = e->stats;
    double seconds = pl_clock_now() - t->begin, steady = pl_clock_now() - t->first_end;
    double rate = t->steps > 1 ? (double)t->tokens / steady : 0;
    double shared = 100 * (find_delay() - t->delay) / seconds;
    clear_live(t);
    if (t->show->json && is_heard(t)) print_end(t, e, seconds, rate);
    fprintf(stderr, "%lld steps in %.1f s", (long long)t->steps, seconds);
    if (t->steps > 1) fprintf(stderr, ", %.0f %s/s after the first", rate, pl_train_unit(t->job));
    if (s->busy_seconds > 0)
        fprintf(stderr,
                "; messages under way %.2f s; compute waited %.2f s, for them and for other ranks",
                s->busy_seconds, s->exposed_seconds);
    fprintf(stderr, "\n");
    if (e->cached) tell_cache(e->cached);
    if (pl_train_cluster(t->job) && t->steps > 1)
        tell_forecast(t, e, steady / (double)(t->steps - 1));
    if (shared >= NOTABLE)
        fprintf(stderr,
                "rank 0 was without a core for %.0f %% of the time: other threads had them\n",
                shared);
    tell_stop(e);
    if (!t->show->profile) return;
    pl_text table = { .arena = pl_arena_new("profile") };
    for (int i = 0; i < e->n_programs; i++)
        if (i != PL_TRAIN_EVAL) pl_exec_profile(e->exec, i, &table);
    fputs(pl_text_get(&table), stderr);
    pl_arena_free(table.arena);
}

void pl_teller_tell(void *to, const pl_train_event *e)
{
    pl_teller *t = to;
    switch (e->what) {
    case PL_TOLD_START:
        t->delay = find_delay();
        tell_start(t, e);
        break;
    case PL_TOLD_STEP: tell_step(t, e); break;
    case PL_TOLD_EVAL: tell_eval(t, e); break;
    case PL_TOLD_SAVE:
        clear_live(t);
        t->saved = true;
        fprintf(stderr, "saved step %lld in %s (%.2f s)\n", (long long)e->step, e->path,
                e->seconds);
        break;
    case PL_TOLD_END: tell_end(t, e); break;
    }
}

pl_teller pl_teller_new(const pl_teller_options *show, const pl_train_options *o,
                        const pl_train_job *job, pl_scalars *scalars)
{
    return (pl_teller){ .show = show,
                        .o = o,
                        .job = job,
                        .scalars = scalars,
                        .tty = !show->json && isatty(STDERR_FILENO),
                        .begin = pl_clock_now() };
}

void pl_teller_close(pl_teller *t)
{
    clear_live(t);
}
