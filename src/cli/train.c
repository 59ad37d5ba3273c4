/* pleat train: real training of a built-in model on this machine's threads, or under mpirun. */
#include "base/text.h"
#include "cli/list.h"
#include "api/launch.h"
#include "options/cache.h"
#include "options/optim.h"
#include "options/request.h"
#include "options/sizes.h"
#include "cli/stop.h"
#include "cli/teller.h"
#include "cli/timeline.h"
#include "layouts/strategy.h"
#include "run/folder.h"
#include "data/augment.h"
#include "data/text.h"
#include "train/rate.h"
#include "train/train.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef struct train_args {
    pl_train_options o;
    const char *backend, *matmul, *cluster, *plan, *order, *data_order, *save_every, *trace;
    pl_output trace_file;
    pl_sizes sizes;
    pl_request_args request;
    pl_host_args host;
    pl_cache_args cache;
    int64_t devices, threads, seed, keep;
    double timeout;
    pl_strategy of_plan; /* the plan file, once it had to say how many devices there are */
    pl_teller_options tell;
} train_args;

#define AT(f) offsetof(train_args, f)
// clang-format off
static const pl_opt opts[] = {
    { "data",         PATH(o.data),       "FILE", NULL,
      "text, .safetensors, a log of clicks, pictures, synthetic, zipf=S" },
    { "words",        PATH(o.words),      "FILE", NULL,
      "a text's tokens are its words, as pleat data words counted them", .needs = "data" },
    { "data-order",   TEXT(data_order),   "NAME", "random", "of rows: random or file" },
    { "augment",      TEXT(o.augment),    "WORDS", NULL, "pictures to train: " PL_AUGMENT_WORDS },
    { "weights",      PATH(o.weights),    "PATH", NULL,  "safetensors to start from" },
    { "weights-partial", FLAG(o.weights_partial), NULL, NULL,
      "what PATH does not have starts from initial values" },
    { "devices",      INT(devices),       "N",    NULL,  "ranks: threads, or those of mpirun", 1 },
    { "strategy",     TEXT(o.strategy),   "S",    "dp",  "how it is split; words below",
      .needs = "!plan" },
    { "plan",         PATH(plan),         "FILE", NULL,  "the same as --strategy plan=FILE" },
    { "cluster",      TEXT(cluster),      "NAME", NULL,  "what it predicts with: see pleat probe" },
    { "steps",        INT(o.steps),       "N",    "100", "updates" },
    PL_SIZES_OPTS(sizes),
    { "micro",        INT(o.micro),       "N",    NULL,  "micro-batches of a step's batch", 1,
      .needs = "method!=admm" },
    { "lr",           REAL(o.lr),         "X",    USUAL(PL_OPTIM_LR), "peak learning rate",
      .needs = "method!=admm" },
    { "lr-schedule",  TEXT(o.lr_schedule), "NAME", PL_RATE_USUAL,
      "after the warm-up; names below", .needs = "method!=admm" },
    { "lr-scaling",   TEXT(o.lr_scaling), "RULE", NULL,
      "linear:N or sqrt:N: --lr is for batches of N rows, and grows with the batch",
      .needs = "method!=admm" },
    { "lr-min",       REAL(o.lr_min),     "X",    NULL,
      "where it ends, default lr / 10; or the least, default 0",
      .needs = "lr-schedule!=constant method!=admm" },
    { "warmup",       INT(o.warmup),      "N",    "0",   "steps of linear warm-up",
      .needs = "method!=admm" },
    { "seed",         INT(seed),          "K",    "1",   "of weights, data order and dropout" },
    PL_OPTIM_OPTS(o.optim, USUAL(PL_OPTIM_EPS), "of all but sgd"),
    { "train-share",  REAL(o.train_share), "X",   "0.9", "first part of FILE; rest validates" },
    { "eval-every",   INT(o.eval_every),  "M",    "0",   "validate every M steps; 0: at the end",
      .needs = "eval-batches!=0" },
    { "eval-batches", INT(o.eval_batches), "N",   "20",  "validation batches; 0: never validate" },
    { "save",         PATH(o.save),       "DIR",  NULL,  "write checkpoints there" },
    { "save-every",   TEXT(save_every),   "M",    "15min",
      "M steps, or 90s, 15min, 1h; 0: only at the end", .needs = "save" },
    { "keep",         INT(keep),          "N",    "3",   "newest checkpoints kept", 1, 1e6,
      .needs = "save" },
    { "overwrite",    FLAG(o.overwrite),  NULL,   NULL,  "DIR may hold another run: it goes",
      .needs = "save" },
    { "resume",       PATH(o.resume),     "DIR",  NULL,  "go on from its newest checkpoint" },
    { "backend",      TEXT(backend),      "NAME", "auto", "kernels: onednn, native, ref or null" },
    { "matmul",       TEXT(matmul),       "TYPE", "f32", "f32, or bf16 inputs with f32 sums" },
    { "threads",      INT(threads),       "N",    NULL,  "per rank; default: its share", 1, 4096 },
    PL_REQUEST_OPTS(request),
    PL_HOST_OPTS(host),
    PL_CACHE_OPTS(cache),
    PL_CACHE_RUN_OPTS(cache),
    { "order",        TEXT(order),        "NAME", "auto", "of steps: program, lescea, pleat" },
    { "timeout",      REAL(timeout),      "SECS", "120", "a rank silent for longer is lost", 0.1 },
    { "log-every",    INT(tell.log_every), "N",   "1",   "show every N-th step, and the last", 1 },
    { "log",          PATH(tell.scalars.log), "FILE.csv", NULL, "add the steps to a table" },
    { "tensorboard",  PATH(tell.scalars.tensorboard), "DIR", NULL, "write an event file there" },
    { "json",         FLAG(tell.json),    NULL,   NULL,  "one JSON object per event on stdout" },
    { "timings",      FLAG(tell.timings),   NULL,   NULL,  "add seconds; with --json rates too" },
    { "explain",      FLAG(tell.explain),   NULL,   NULL,  "print kernels of steps and refusals" },
    { "profile",      FLAG(tell.profile),   NULL,   NULL,  "print seconds by operator and kernel" },
    { "program",      FLAG(tell.program),   NULL,   NULL,  "print rank 0's program" },
    { "trace",        PATH(trace),        "FILE", NULL,  "the last step as it ran, for Perfetto",
      .needs = "steps!=0" },
    { 0 },
};
// clang-format on

static bool run_rank(void *arg, pl_comm *comm, pl_err *err)
{
    pl_teller *t = arg;
    int stopped;
    bool ok = pl_train_run(t->job, comm, pl_teller_tell, t, &stopped, err);
    if (!comm || comm->rank == t->o->rank) t->stopped = stopped;
    return ok;
}

/* Links and devices, where the user names them. */
static bool find_cluster(train_args *a, const pl_world *w, pl_arena *arena, pl_err *err)
{
    pl_cluster *c;
    if (!a->cluster) return true;
    PL_TRY(pl_cluster_find(a->cluster, arena, &c, err));
    a->o.plan.cluster = c;
    return c->n_devices == w->n_ranks ||
           pl_err_set(err, PL_EUSAGE, "--cluster %s has %d devices, and here are %d ranks",
                      a->cluster, c->n_devices, w->n_ranks);
}

/* "200" steps, or a time: "90s", "15min", "1h". */
static bool find_save_every(const char *text, pl_train_options *o, pl_err *err)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 } };
    if (pl_text_int(text, &o->save_every) && o->save_every >= 0) return true;
    size_t n = strspn(text, "0123456789.");
    char number[32];
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (n < sizeof number && !strcmp(text + n, units[i].unit) &&
            pl_text_real(number, &o->save_seconds) && o->save_seconds > 0) {
            o->save_every = 0;
            o->save_seconds *= units[i].seconds;
            return true;
        }
    return pl_err_set(err, PL_EUSAGE,
                      "--save-every %s: a number of steps, or a time such as 90s, 15min or 1h",
                      text);
}

/* Processes of several machines share no clock: of several the first one alone records. */
static int count_recorded(const pl_world *w)
{
    return w->mpi ? 1 : w->n_ranks;
}

static bool open_trace(train_args *a, const pl_world *w, pl_arena *arena, pl_err *err)
{
    if (!a->trace || w->rank) return true;
    a->o.record = PL_NEW_N(arena, pl_train_record, count_recorded(w));
    return pl_output_open(a->trace, arena, &a->trace_file, err);
}

static bool write_trace(train_args *a, const pl_train_job *job, const pl_world *w, pl_err *err)
{
    return !a->o.record ||
           pl_timeline_write_run(&a->trace_file, a->trace, a->o.model, count_recorded(w),
                                 a->o.record, pl_train_cluster(job), err);
}

/* What the rows have not filled in as it stands. */
static bool make_options(train_args *a, const char *model, const pl_world *w, pl_arena *arena,
                         pl_err *err)
{
    pl_train_options *o = &a->o;
    pl_kernel_env *env = &o->exec.env;
    pl_model_args *args = PL_NEW(arena, pl_model_args);
    o->model = pl_sizes_spec(&a->sizes, model, arena);
    PL_TRY(pl_model_parse(o->model, arena, args, err));
    o->args = args;
    if (!w->rank) pl_sizes_tell(args);
    if (!o->data)
        return pl_err_set(err, PL_EUSAGE,
                          "--data is missing: a text file, FILE.safetensors, a log of clicks, "
                          "pictures or synthetic");
    if (strcmp(a->data_order, "random") != 0 && strcmp(a->data_order, "file") != 0)
        return pl_err_set(err, PL_EUSAGE, "--data-order %s: random or file", a->data_order);
    o->in_order = !strcmp(a->data_order, "file");
    if (o->train_share <= 0 || o->train_share >= 1)
        return pl_err_set(err, PL_EUSAGE, "--train-share %g is not between 0 and 1",
                          o->train_share);
    PL_TRY(pl_request_make(&a->request, arena, &o->plan, err));
    o->plan.strategy = a->of_plan;
    PL_TRY(find_cluster(a, w, arena, err));
    o->exec.memory_limit = a->request.memory;
    PL_TRY(pl_cache_args_read(&a->cache, &o->optim.cache, err));
    PL_TRY(pl_request_check_links(&a->host, w->n_ranks, err));
    o->policy = pl_cache_policy_find(a->cache.policy);
    o->ahead = a->cache.ahead;
    o->apart = w->mpi;
    if (!o->policy)
        return pl_err_set(err, PL_EUSAGE, "--cache-policy %s: " PL_CACHE_POLICIES, a->cache.policy);
    o->exec.host_dir = a->host.dir;
    o->exec.host_rate = (double)a->host.rate;
    o->exec.link_rate = (double)a->host.link_rate;
    a->tell.measured = a->cluster || !strncmp(o->strategy, "plan=", 5);
    o->seed = (uint64_t)a->seed;
    o->keep = (int)a->keep;
    o->rank = w->rank;
    o->stop = pl_stop_signal();
    PL_TRY(find_save_every(a->save_every, o, err));
    if (!o->rank) PL_TRY(pl_scalars_check(&a->tell.scalars, o->resume, err));
    PL_TRY(open_trace(a, w, arena, err));
    env->n_threads = pl_launch_threads(a->threads, w->n_local);
    if (!pl_type_find(a->matmul, &env->matmul) || !pl_type_is_float(env->matmul))
        return pl_err_set(err, PL_EUSAGE, "--matmul %s: f32 or bf16", a->matmul);
    o->exec.backends = pl_launch_backends(a->backend, &o->exec.n_backends, err);
    return o->exec.backends && pl_step_order_find(a->order, &o->plan.lower.order, err);
}

/* A run that ended early, because its data broke too, goes on from its last checkpoint, if there is
 * one. */
static void add_next_step(const train_args *a, const pl_teller *t, pl_arena *arena, pl_err *err)
{
    pl_err none = { 0 }, found = *err;
    const char *latest;
    const bool early = err->code == PL_ERUN || (err->code == PL_EINPUT && t->saved);
    if (!early || !a->o.save || !pl_folder_latest(a->o.save, arena, &latest, &none)) return;
    *err = (pl_err){ 0 };
    pl_err_set(err, found.code, "%.900s; --resume %s goes on from %s", found.msg, a->o.save,
               latest);
}

/* *stopped: the signal that ended the run, or 0. */
static bool train(train_args *a, const char *model, pl_world *w, pl_arena *arena, int *stopped,
                  pl_err *err)
{
    pl_train_job *job;
    pl_scalars scalars = { 0 };
    bool made =
        make_options(a, model, w, arena, err) && pl_train_new(&a->o, w->n_ranks, arena, &job, err);
    if (made && !w->rank && !pl_scalars_open(&a->tell.scalars, a->o.resume, arena, &scalars, err))
        PL_ASSERT(err->code);
    if (!pl_launch_agree(w, err)) {
        if (made) pl_train_free(job);
        pl_scalars_close(&scalars);
        return false;
    }
    pl_teller t = pl_teller_new(&a->tell, &a->o, job, &scalars);
    if (a->o.save) signal(SIGPIPE, SIG_IGN); /* nobody reads on: no reason to lose a run */
    pl_stop_watch();
    bool ok = pl_launch_run(w, run_rank, &t, err);
    pl_stop_unwatch();
    *stopped = t.stopped;
    pl_teller_close(&t);
    pl_scalars_close(&scalars);
    if (!ok) add_next_step(a, &t, arena, err);
    ok = ok && write_trace(a, job, w, err);
    for (int i = 0; a->o.record && i < count_recorded(w); i++) pl_arena_free(a->o.record[i].arena);
    pl_train_free(job);
    return ok;
}

/* A plan brings its number of devices, unless the user or a launcher says how many there are. */
static bool find_devices(train_args *a, pl_arena *arena, pl_err *err)
{
    if (a->plan) a->o.strategy = pl_arena_fmt(arena, "plan=%s", a->plan);
    if (strncmp(a->o.strategy, "plan=", 5) || a->devices || pl_launch_started()) return true;
    PL_TRY(pl_strategy_parse(a->o.strategy, 0, arena, &a->of_plan, err));
    PL_TRY(pl_strategy_read(&a->of_plan, arena, err));
    a->devices = a->of_plan.devices;
    return true;
}

static int run(const pl_command *c, int argc, char **argv)
{
    train_args a = { .o = { .lr_min = -1, .optim.decay = -1 } };
    const char *model;
    int n, code, stopped = 0;
    if (!pl_opt_parse(c, argc, argv, &a, 1, 1, &model, &n, &code)) return code;
    pl_optim_settle(&a.o.optim);
    pl_arena *arena = pl_arena_new("train");
    pl_err err = { 0 };
    pl_world w = { 0 };
    if (find_devices(&a, arena, &err) && pl_launch_open(a.devices, a.timeout, &w, &err))
        (void)!train(&a, model, &w, arena, &stopped, &err);
    pl_arena_free(arena);
    code = pl_launch_close(&w, &err, pl_opt_fail);
    return code || !stopped ? code : pl_stop_code(stopped);
}

const pl_command pl_command_train = {
    .name = "train",
    .operands = "MODEL",
    .about = "train a model, on threads of this machine or under mpirun",
    .more =
        "example: pleat train gpt2:layers=4,hidden=128,heads=4,vocab=256,dropout=0 --data FILE\n"
        "           --seq 64 --batch 12 --steps 2000 --devices 2 --save DIR\n\n"
        "--trace FILE has the steps and messages of every device as the last training step ran\n"
        "them (the last of its micro-batches). With --cluster, --plan or\n"
        "--strategy auto it also has the forecast, below device 0. Under mpirun the only device\n"
        "in it is device 0.\n\n"
        "SIGINT (Ctrl-C), SIGTERM and SIGUSR1 end a run after its step: it saves, says how to go\n"
        "on, and exits with 128 + the signal (130, 143, 138). A second one, a second later, ends "
        "it at\n"
        "once. mpirun hands on USR1; of INT and TERM it makes a TERM after a second and a KILL a\n"
        "second later, which --mca odls_base_sigkill_timeout SECONDS makes longer.",
    .opts = opts,
    .run = run,
    .computes = true,
};
