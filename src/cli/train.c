/* pleat train: real training of a built-in model on this machine's threads, or under mpirun. */
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/sizes.h"
#include "cli/launch.h"
#include "plan/strategy.h"
#include "program/forecast.h"
#include "run/save.h"
#include "train/data_text.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct train_args {
    pl_train_options o;
    const char *backend, *matmul, *cluster, *plan, *order, *data_order;
    pl_sizes sizes;
    int64_t devices, threads, seed, keep;
    double timeout;
    bool json, timings, explain, profile, program;
} train_args;

#define AT(f) offsetof(train_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "data",         TEXT(o.data),       "FILE", NULL,  "text, .safetensors, or synthetic" },
    { "data-order",   TEXT(data_order),   "NAME", "random", "of rows of tensors: random or file" },
    { "weights",      TEXT(o.weights),    "PATH", NULL,  "safetensors to start from" },
    { "devices",      INT(devices),       "N",    NULL,  "ranks: threads, or those of mpirun", 1 },
    { "strategy",     TEXT(o.strategy),   "S",    "dp",  "how it is split; words below" },
    { "plan",         TEXT(plan),         "FILE", NULL,  "the same as --strategy plan=FILE" },
    { "cluster",      TEXT(cluster),      "NAME", NULL,  "what it predicts with: see pleat probe" },
    { "steps",        INT(o.steps),       "N",    "100", "updates" },
    PL_SIZES_OPTS(sizes),
    { "micro",        INT(o.micro),       "N",    "1",   "micro-batches of a step's batch", 1 },
    { "lr",           REAL(o.lr),         "X",    USUAL(PL_OPTIM_LR), "peak learning rate" },
    { "lr-min",       REAL(o.lr_min),     "X",    NULL,  "end of the cosine; default lr / 10" },
    { "warmup",       INT(o.warmup),      "N",    "0",   "steps of linear warm-up" },
    { "seed",         INT(seed),          "K",    "1",   "of weights, data order and dropout" },
    { "optimizer",    TEXT(o.optim.name), "NAME", PL_OPTIM_NAME, "adamw, adam or sgd" },
    { "beta1",        REAL(o.optim.beta1), "X",   USUAL(PL_OPTIM_BETA1), "of adam and adamw" },
    { "beta2",        REAL(o.optim.beta2), "X",   USUAL(PL_OPTIM_BETA2), "of adam and adamw" },
    { "eps",          REAL(o.optim.eps),  "X",    USUAL(PL_OPTIM_EPS), "of adam and adamw" },
    { "momentum",     REAL(o.optim.momentum), "X", USUAL(PL_OPTIM_MOMENTUM), "of sgd" },
    { "decay",        REAL(o.optim.decay), "X",   USUAL(PL_OPTIM_DECAY),
      "weight decay of matrices" },
    { "clip",         REAL(o.optim.clip), "X",    USUAL(PL_OPTIM_CLIP),
      "global gradient norm; 0: no clipping" },
    { "train-share",  REAL(o.train_share), "X",   "0.9", "first part of FILE; rest validates" },
    { "eval-every",   INT(o.eval_every),  "M",    "0",   "validate every M steps; 0: at the end" },
    { "eval-batches", INT(o.eval_batches), "N",   "20",  "validation batches; 0: never validate" },
    { "save",         TEXT(o.save),       "DIR",  NULL,  "write checkpoints there" },
    { "save-every",   INT(o.save_every),  "M",    "0",   "every M steps; 0: only at the end" },
    { "keep",         INT(keep),          "N",    "1",   "newest checkpoints kept", 1, 1e6 },
    { "resume",       TEXT(o.resume),     "DIR",  NULL,  "go on from its newest checkpoint" },
    { "backend",      TEXT(backend),      "NAME", "auto", "kernels: onednn, native, ref or null" },
    { "matmul",       TEXT(matmul),       "TYPE", "f32", "f32, or bf16 inputs with f32 sums" },
    { "threads",      INT(threads),       "N",    NULL,  "per rank; default: its share", 1, 4096 },
    { "bucket",       BYTES(o.bucket_bytes), "SIZE", "16MiB",
      "gradients reduced in one message", 1 },
    { "memory",       BYTES(o.exec.memory_limit), "SIZE", "0",
      "of a device; 0: that of the machine" },
    { "gathers-ahead", BYTES(o.ahead_bytes), "SIZE", "32MiB",
      "weights gathered before they are read" },
    { "gather-steps", BYTES(o.step_bytes), "SIZE", "0",  "larger gathers run in steps; 0: none" },
    { "order",        TEXT(order),        "NAME", "auto", "of steps: program, lescea, pleat" },
    { "timeout",      REAL(timeout),      "SECS", "120", "a rank silent for longer is lost", 0.1 },
    { "json",         FLAG(json),         NULL,   NULL,  "one JSON object per event on stdout" },
    { "timings",      FLAG(timings),      NULL,   NULL,  "add seconds and tokens/s to the lines" },
    { "explain",      FLAG(explain),      NULL,   NULL,  "print each step's kernel and refusals" },
    { "profile",      FLAG(profile),      NULL,   NULL,  "print seconds by operator and kernel" },
    { "program",      FLAG(program),      NULL,   NULL,  "print rank 0's program" },
    { 0 },
};
// clang-format on

/* -- telling ----------------------------------------------------------------------------------- */

typedef struct teller {
    const train_args *a;
    const pl_train_job *job;
    bool tty;
    double begin, first_end, shown; /* seconds on the clock */
    int64_t first_step, tokens, steps;
    bool live; /* a live line stands on the terminal */
} teller;

/* JSON has no infinity and no NaN. */
static void print_number(const char *name, double x)
{
    if (isfinite(x))
        printf(", \"%s\": %.9g", name, x);
    else
        printf(", \"%s\": null", name);
}

static void print_step(const teller *t, const pl_train_event *e)
{
    printf("{\"step\": %lld", (long long)e->step);
    print_number("loss", e->loss);
    print_number("lr", e->lr);
    if (!(e->grad_norm < 0)) print_number("grad_norm", e->grad_norm);
    if (t->a->timings)
        printf(", \"seconds\": %.6f, \"tokens_per_second\": %.1f", e->seconds,
               (double)e->tokens / e->seconds);
    printf("}\n");
    fflush(stdout);
}

static void clear_live(teller *t)
{
    if (t->live) fprintf(stderr, "\r\033[K");
    t->live = false;
}

static void tell_start(teller *t, const pl_train_event *e)
{
    pl_arena *a = pl_arena_new("start line");
    const pl_graph *g = pl_train_graph(t->job);
    const char *notes = pl_train_notes(t->job);
    const pl_data *d = pl_train_data(t->job);
    const pl_program *p = e->program[PL_TRAIN_STEP];
    fprintf(stderr, "%s: %lld parameters, %d nodes; %s; %d steps on %d device%s, %d message%s\n",
            g->name, (long long)pl_graph_params(g), g->nodes.n, p->plan->strategy, p->n_steps,
            p->n_ranks, p->n_ranks > 1 ? "s" : "", p->n_messages, p->n_messages == 1 ? "" : "s");
    if (e->n_programs > PL_TRAIN_UPDATE)
        fprintf(stderr, "%lld times in a step; then the update: %d steps, %d messages\n",
                (long long)t->a->o.micro, e->program[PL_TRAIN_UPDATE]->n_steps,
                e->program[PL_TRAIN_UPDATE]->n_messages);
    fprintf(stderr,
            "memory of one device: %s of states, %s of work (no layout of this order is below "
            "%s), %s of scratch\n",
            pl_text_size(a, (double)e->stats->state_bytes),
            pl_text_size(a, (double)e->stats->work_bytes), pl_text_size(a, (double)p->work_bound),
            pl_text_size(a, (double)e->stats->scratch_bytes));
    if (*pl_train_weights(t->job)) fprintf(stderr, "%s\n", pl_train_weights(t->job));
    if (*notes) fprintf(stderr, "resuming with other settings: %s\n", notes);
    if (d->kind == PL_DATA_TENSORS)
        fprintf(stderr, "%s: %lld rows to learn, %lld to validate\n", d->path,
                (long long)d->n_train, (long long)(d->n - d->n_train));
    if (d->kind == PL_DATA_TEXT)
        fprintf(stderr,
                "%s: %lld bytes to learn, %lld to validate; letter frequencies alone: %.4f nats\n",
                d->path, (long long)d->n_train, (long long)(d->n - d->n_train),
                pl_data_text_entropy(d));
    pl_text out = { .arena = a };
    for (int i = 0; i < e->n_programs; i++) {
        if (i == PL_TRAIN_EVAL) continue;
        if (t->a->explain) pl_exec_explain(e->exec, i, &out);
        if (t->a->program) pl_program_print(e->program[i], &out);
    }
    fputs(pl_text_get(&out), stderr);
    pl_arena_free(a);
}

static void tell_step(teller *t, const pl_train_event *e)
{
    double time = pl_clock_now();
    if (!t->steps++)
        t->first_end = time, t->first_step = e->step;
    else
        t->tokens += e->tokens;
    double rate = t->steps > 1 ? (double)t->tokens / (time - t->first_end) : 0;
    if (t->a->json) {
        print_step(t, e);
        return;
    }
    if (!t->tty) {
        printf("step %lld loss %.6f", (long long)e->step, e->loss);
        if (t->a->timings) printf(" %.4f s", e->seconds);
        printf("\n");
        fflush(stdout);
        return;
    }
    if (rate <= 0 || (time - t->shown < 0.2 && e->step != t->a->o.steps)) return;
    double left = (double)(t->a->o.steps - e->step) * (double)e->tokens / rate;
    fprintf(stderr, "\r\033[Kstep %lld/%lld  loss %.4f  %.0f tokens/s  eta %.0f s",
            (long long)e->step, (long long)t->a->o.steps, e->loss, rate, left);
    t->live = true;
    t->shown = time;
}

static void tell_eval(teller *t, const pl_train_event *e)
{
    const bool text = pl_train_data(t->job)->kind != PL_DATA_TENSORS;
    double bits = e->loss / log(2.0);
    clear_live(t);
    if (t->a->json) {
        printf("{\"step\": %lld", (long long)e->step);
        print_number("validation_loss", e->loss);
        if (text) print_number("bits_per_byte", bits);
        printf("}\n");
    } else {
        printf("step %lld validation %.4f nats", (long long)e->step, e->loss);
        if (text) printf(", %.4f bits per byte", bits);
        printf("\n");
    }
    fflush(stdout);
}

/* The step as the cluster's figures have it, beside what it took. */
static void tell_forecast(const teller *t, const pl_train_event *e, double measured)
{
    const pl_cluster *c = t->a->o.cluster;
    pl_arena *tmp = pl_arena_new("forecast");
    const pl_speed speed = pl_cost_speed(c);
    double predicted = 0;
    for (int i = 0; i < e->n_programs; i++) {
        pl_forecast f;
        if (i == PL_TRAIN_EVAL) continue;
        pl_forecast_make(e->program[i], &speed, tmp, &f);
        predicted += f.step_seconds * (i == PL_TRAIN_STEP ? (double)t->a->o.micro : 1);
    }
    fprintf(stderr, "a step took %.3f ms; predicted: %.3f ms (%+.0f %%)%s\n", 1e3 * measured,
            1e3 * predicted, 100 * (predicted / measured - 1),
            t->a->cluster || t->a->plan ? ""
                                        : "; its figures are guesses: pleat probe measures them");
    pl_arena_free(tmp);
}

static void tell_end(teller *t, const pl_train_event *e)
{
    const pl_exec_stats *s = e->stats;
    double seconds = pl_clock_now() - t->begin, steady = pl_clock_now() - t->first_end;
    clear_live(t);
    fprintf(stderr, "%lld steps in %.1f s", (long long)t->steps, seconds);
    if (t->steps > 1)
        fprintf(stderr, ", %.0f tokens/s after the first", (double)t->tokens / steady);
    if (s->busy_seconds > 0)
        fprintf(stderr, "; messages under way %.2f s, of which compute waited %.2f s",
                s->busy_seconds, s->exposed_seconds);
    fprintf(stderr, "\n");
    if (t->a->o.cluster && t->steps > 1) tell_forecast(t, e, steady / (double)(t->steps - 1));
    if (!t->a->profile) return;
    pl_text table = { .arena = pl_arena_new("profile") };
    for (int i = 0; i < e->n_programs; i++)
        if (i != PL_TRAIN_EVAL) pl_exec_profile(e->exec, i, &table);
    fputs(pl_text_get(&table), stderr);
    pl_arena_free(table.arena);
}

static void tell(void *to, const pl_train_event *e)
{
    teller *t = to;
    switch (e->what) {
    case PL_TOLD_START: tell_start(t, e); break;
    case PL_TOLD_STEP: tell_step(t, e); break;
    case PL_TOLD_EVAL: tell_eval(t, e); break;
    case PL_TOLD_SAVE:
        clear_live(t);
        fprintf(stderr, "saved step %lld in %s (%.2f s)\n", (long long)e->step, e->path,
                e->seconds);
        break;
    case PL_TOLD_END: tell_end(t, e); break;
    }
}

/* -- running ----------------------------------------------------------------------------------- */

static bool run_rank(void *arg, pl_comm *comm, pl_err *err)
{
    teller *t = arg;
    return pl_train_run(t->job, comm, tell, t, err);
}

/* Links and devices: those that the user names, or of a plan file; for a search guesses of this
 * machine's. */
static bool find_cluster(train_args *a, const pl_world *w, pl_arena *arena, pl_err *err)
{
    pl_cluster *c;
    pl_strategy s;
    PL_TRY(pl_strategy_parse(a->o.strategy, w->n_ranks, arena, &s, err));
    a->o.cluster = s.cluster;
    if (!a->cluster && !s.automatic) return true;
    const char *name = a->cluster ? a->cluster : pl_arena_fmt(arena, "local:%d", w->n_ranks);
    PL_TRY(pl_cluster_find(name, arena, &c, err));
    a->o.cluster = c;
    return c->n_devices == w->n_ranks ||
           pl_err_set(err, PL_EUSAGE, "--cluster %s has %d devices, and here are %d ranks", name,
                      c->n_devices, w->n_ranks);
}

/* What the rows have not filled in as it stands. */
static bool make_options(train_args *a, const char *model, const pl_world *w, pl_arena *arena,
                         pl_err *err)
{
    pl_train_options *o = &a->o;
    pl_kernel_env *env = &o->exec.env;
    int cores = pl_launch_cores() / w->n_local;
    o->model = pl_sizes_spec(&a->sizes, model, arena);
    if (!o->data)
        return pl_err_set(err, PL_EUSAGE,
                          "--data is missing: a text file, FILE.safetensors or synthetic");
    if (strcmp(a->data_order, "random") != 0 && strcmp(a->data_order, "file") != 0)
        return pl_err_set(err, PL_EUSAGE, "--data-order %s: random or file", a->data_order);
    o->in_order = !strcmp(a->data_order, "file");
    if (o->in_order && pl_data_kind_of(o->data) != PL_DATA_TENSORS)
        return pl_err_set(err, PL_EUSAGE,
                          "--data-order file is for rows of tensors: --data FILE.safetensors");
    if (o->train_share <= 0 || o->train_share >= 1)
        return pl_err_set(err, PL_EUSAGE, "--train-share %g is not between 0 and 1",
                          o->train_share);
    if (a->plan) o->strategy = pl_arena_fmt(arena, "plan=%s", a->plan);
    PL_TRY(find_cluster(a, w, arena, err));
    if (o->lr_min < 0) o->lr_min = o->lr / 10;
    if (!o->ahead_bytes) o->ahead_bytes = -1;
    o->seed = (uint64_t)a->seed;
    o->keep = (int)a->keep;
    env->n_threads = a->threads ? (int)a->threads : cores > 1 ? cores : 1;
    if (!pl_type_find(a->matmul, &env->matmul) || !pl_type_is_float(env->matmul))
        return pl_err_set(err, PL_EUSAGE, "--matmul %s: f32 or bf16", a->matmul);
    o->exec.backends = pl_launch_backends(a->backend, &o->exec.n_backends, err);
    return o->exec.backends && pl_step_order_find(a->order, &o->order, err);
}

/* A run that ended early goes on from its last checkpoint, if there is one. */
static void add_next_step(const train_args *a, pl_arena *arena, pl_err *err)
{
    pl_err none = { 0 }, found = *err;
    const char *latest;
    if (err->code != PL_ERUN || !a->o.save ||
        !pl_save_read_latest(a->o.save, arena, &latest, &none))
        return;
    *err = (pl_err){ 0 };
    pl_err_set(err, found.code, "%.900s; --resume %s goes on from %s", found.msg, a->o.save,
               latest);
}

static bool train(train_args *a, const char *model, pl_world *w, pl_arena *arena, pl_err *err)
{
    pl_train_job *job;
    bool made =
        make_options(a, model, w, arena, err) && pl_train_new(&a->o, w->n_ranks, arena, &job, err);
    if (!pl_launch_agree(w, err)) {
        if (made) pl_train_free(job);
        return false;
    }
    teller t = {
        .a = a, .job = job, .tty = !a->json && isatty(STDERR_FILENO), .begin = pl_clock_now()
    };
    bool ok = pl_launch_run(w, run_rank, &t, err);
    clear_live(&t);
    if (!ok) add_next_step(a, arena, err);
    pl_train_free(job);
    return ok;
}

static int run(const pl_command *c, int argc, char **argv)
{
    train_args a = { .o.lr_min = -1 };
    const char *model;
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &model, &n, &code)) return code;
    pl_arena *arena = pl_arena_new("train");
    pl_err err = { 0 };
    pl_world w = { 0 };
    if (pl_launch_open(a.devices, a.timeout, &w, &err)) (void)!train(&a, model, &w, arena, &err);
    pl_arena_free(arena);
    return pl_launch_close(&w, &err);
}

const pl_command pl_command_train = {
    .name = "train",
    .operands = "MODEL",
    .about = "train a model, on threads of this machine or under mpirun",
    .more =
        "example: pleat train gpt2:layers=4,hidden=128,heads=4,vocab=256,dropout=0 --data FILE\n"
        "           --seq 64 --batch 12 --steps 2000 --devices 2 --save DIR",
    .opts = opts,
    .run = run,
    .computes = true,
};
