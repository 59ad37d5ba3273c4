/* One rank of a job: pl_runner_open() lowers the programs and makes the executor,
 * pl_runner_step() runs the micro-batches of a step and its update. */
#include "train/runner.h"

#include "run/save.h"

#include <stdio.h>

enum { STEP = PL_TRAIN_STEP, EVAL = PL_TRAIN_EVAL, MICRO = PL_TRAIN_MICRO };

static const double WARM = 0.7; /* of a cache: CachedEmbedding's usual share */

/* -- making ------------------------------------------------------------------------------------ */

static bool has_micro(const pl_train_job *job)
{
    return job->options.micro > 1 && !job->whole.graph;
}

const pl_program *pl_runner_micro(const pl_runner *runner)
{
    return has_micro(runner->job) ? runner->program[MICRO] : NULL;
}

static bool lower_rest(pl_runner *runner, int i, pl_err *err)
{
    const pl_train_job *job = runner->job;
    const pl_unrolled *whole = &job->whole_rest[i];
    const int at = job->rest_program[i];
    pl_program *p;
    PL_TRY(pl_program_lower(whole->graph ? whole->plan : job->rests.at[i].plan, runner->rank,
                            runner->store, &job->options.plan.lower, runner->arena, &p, err));
    runner->program[at] = p;
    if (has_micro(job)) runner->program[at + 1] = pl_program_micro(p, runner->arena);
    return true;
}

static bool lower(pl_runner *runner, int *n_programs, pl_err *err)
{
    const pl_train_job *job = runner->job;
    const pl_plan *step = job->whole.graph ? job->whole.plan : job->plan[STEP];
    int n = job->n_programs, n_gathers = 0;
    runner->store = pl_store_new(step, runner->rank, runner->arena);
    if (job->options.save) {
        PL_TRY(pl_state_gather(step, runner->store, runner->rank, 0, runner->arena, &runner->gather,
                               err));
        n_gathers = runner->gather->n;
    }
    *n_programs = n + n_gathers;
    runner->program = PL_NEW_N(runner->arena, const pl_program *, *n_programs);
    for (int i = 0; i < job->n_graphs; i++) {
        pl_program *p;
        PL_TRY(pl_program_lower(i == STEP ? step : job->plan[i], runner->rank, runner->store,
                                &job->options.plan.lower, runner->arena, &p, err));
        runner->program[i] = p;
    }
    if (has_micro(job))
        runner->program[MICRO] = pl_program_micro(runner->program[STEP], runner->arena);
    for (int i = 0; i < job->rests.n; i++) PL_TRY(lower_rest(runner, i, err));
    for (int i = 0; i < n_gathers; i++) runner->program[n + i] = runner->gather->program[i];
    return true;
}

static void open_caches(pl_runner *runner)
{
    const pl_train_job *job = runner->job;
    const pl_plan *step = job->whole.graph ? job->whole.plan : job->plan[STEP];
    const bool fed = job->data.kind == PL_DATA_FED; /* a step at a time */
    const pl_caches_options o = { .policy = job->options.policy,
                                  .counts = &job->counts,
                                  .ahead = fed ? 0 : job->options.ahead,
                                  .micro = job->options.micro,
                                  .warm = WARM };
    if (!job->tables.n) return;
    runner->caches = pl_caches_new(job->plan[STEP]->graph, step, runner->store, runner->rank,
                                   &job->tables, &o, runner->arena);
    if (job->counts.n) pl_caches_warm(runner->caches, runner->exec);
}

/* It is what else there is beside the step, validation first, that takes too much; said where all
 * ranks take the same. */
static void note_rest(const pl_runner *runner, int64_t limit, pl_err *err)
{
    const int64_t alone = runner->store->bytes + runner->program[STEP]->work_bytes;
    const pl_err had = *err;
    const bool alike = !runner->program[STEP]->plan->stages;
    if (err->code != PL_EINFEASIBLE || !limit || alone > limit || !alike) return;
    *err = (pl_err){ 0 };
    pl_err_set(err, had.code, "%s; a step alone fits: --eval-batches 0 leaves validation out",
               had.msg);
}

static bool start(pl_runner *runner, pl_comm *comm, int (*wish)(void *of), void *of, pl_err *err)
{
    const pl_train_job *job = runner->job;
    int n = 0;
    bool made = lower(runner, &n, err);
    if (comm) made = pl_comm_agree(comm, err);
    if (!made) return false;
    if (comm) PL_TRY(pl_exec_match(comm, job->n_programs, runner->program, err));
    pl_exec_options options = job->options.exec;
    options.wish = wish, options.wish_of = of;
    options.record = job->options.record != NULL;
    if (!pl_exec_new(&options, comm, n, runner->program, runner->arena, &runner->exec, err)) {
        note_rest(runner, options.memory_limit, err);
        return comm ? pl_comm_agree(comm, err) : false;
    }
    const pl_init from = pl_train_initial(job);
    bool ok = job->options.resume ? pl_state_load(runner->exec, runner->store, &job->from, err)
                                  : pl_state_init(runner->exec, runner->store, &from, false, err);
    open_caches(runner);
    if (pl_exec_agree(runner->exec, err) && ok) return true; /* no rank starts unless all can */
    pl_exec_free(runner->exec);
    return false;
}

bool pl_runner_open(pl_runner *runner, const pl_train_job *job, pl_comm *comm,
                    int (*wish)(void *of), void *of, pl_err *err)
{
    const int64_t labels = pl_model_labels(&job->args);
    *runner = (pl_runner){ .job = job,
                           .rank = comm ? comm->rank : 0,
                           .arena = pl_arena_new("rank"),
                           .done = job->options.resume ? job->from.manifest.step : 0 };
    if (job->data.kind == PL_DATA_SYNTHETIC)
        runner->limits =
            pl_ids_limits(job->graph[STEP], labels ? labels : 256, false, runner->arena);
    if (start(runner, comm, wish, of, err)) return true;
    pl_arena_free(runner->arena);
    *runner = (pl_runner){ 0 };
    return false;
}

void pl_runner_close(pl_runner *runner)
{
    if (runner->exec) pl_exec_free(runner->exec);
    pl_arena_free(runner->arena);
    *runner = (pl_runner){ 0 };
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Micro-batch k of a step reads rows k of `micro` shares of its batch; drawn numbers are its own.
 * step < 0: a validation batch. */
static pl_feed feed_of(const pl_runner *runner, const char *input, int64_t step, int64_t k)
{
    const pl_train_options *options = &runner->job->options;
    return (pl_feed){ .data = &runner->job->data,
                      .seed = options->seed,
                      .lr = pl_rate_at(&runner->job->rate, step),
                      .step = step + 1,
                      .draw = step < 0 ? step : step * options->micro + k,
                      .n_valid = options->eval_batches * options->micro,
                      .below = pl_ids_limit(&runner->limits, input),
                      .bags = pl_ids_bags(&runner->limits, input) };
}

/* All of an input of ids. */
static void read_ids(void *of, const pl_value *ids, int64_t step, int64_t k, int32_t *to)
{
    static const pl_mesh one;
    const pl_feed f = feed_of(of, ids->name, step, k);
    pl_port whole = { .value = ids, .shape = ids->shape };
    const pl_region region = pl_region_of(&whole.where, &one, &ids->shape, 0);
    whole.region = &region;
    pl_data_feed(&f, &whole, to);
}

/* Of a pipeline: what the graph of a program has all micro-batches of. */
static const pl_unrolled *find_whole(const pl_runner *runner, int which)
{
    static const pl_unrolled none;
    const pl_train_job *job = runner->job;
    for (int i = 0; i < job->rests.n; i++)
        if (job->rest_program[i] == which) return &job->whole_rest[i];
    return which == STEP ? &job->whole : &none;
}

/* Ids of tables that are cached are those of places there. */
static void fill_inputs(pl_runner *runner, int which, int64_t step, int64_t k)
{
    const pl_program *p = runner->program[which];
    const pl_unrolled *whole = find_whole(runner, which);
    for (int i = 0; i < p->n_inputs; i++) {
        void *to = pl_exec_map(runner->exec, &p->input[i], PL_WRITE);
        int64_t of = k;
        pl_port port = p->input[i];
        port.value = pl_unrolled_from(whole, port.value, &of);
        const char *name = port.value->name;
        const int32_t *places = runner->caches ? pl_caches_places(runner->caches, name, of) : NULL;
        const pl_feed f = feed_of(runner, name, step, of);
        if (to && places) pl_port_take(&port, places, to);
        if (to && !places) pl_data_feed(&f, &port, to);
        pl_exec_unmap(runner->exec, &p->input[i], PL_WRITE, to);
    }
}

/* What was wrong with the data, all ranks hear at the step's end. */
static bool run_program(pl_runner *runner, int which, int64_t step, int64_t k, pl_err *err)
{
    pl_err problem = { 0 };
    fill_inputs(runner, which, step, k);
    const bool whole = pl_data_check(&runner->job->data, &problem);
    if (!whole) *err = problem;
    return pl_exec_step(runner->exec, which, err) && whole;
}

static bool take_rows(pl_runner *runner, int64_t step, pl_err *err)
{
    return !runner->caches ||
           pl_caches_take(runner->caches, runner->exec, read_ids, runner, step, err);
}

double pl_runner_scalar(const pl_runner *runner, int which, const char *name)
{
    const pl_program *p = runner->program[which];
    const pl_port *x = pl_port_find(p->n_outputs, p->output, name);
    float y = -1;
    if (x) pl_exec_get(runner->exec, x, &y, sizeof y);
    return (double)y;
}

/* The losses of a micro-batch are added to those of the step; `of` is "" or, where a program runs
 * several, "@3". Returns the share of their sum. */
static double add_losses(pl_runner *runner, int which, const char *of)
{
    const pl_objectives *list = &runner->job->rests.objectives;
    const double n = (double)runner->job->options.micro;
    const unsigned resting = pl_objectives_resting(list, runner->done);
    char name[64];
    double sum = 0;
    int part = 0;
    for (int i = 0; i < list->n && list->n > 1; i++) {
        if (resting >> i & 1) continue;
        snprintf(name, sizeof name, "loss.%s%s", list->at[i].name, of);
        const double loss = pl_runner_scalar(runner, which, name) / n;
        runner->part[part].name = list->at[i].name;
        runner->part[part++].loss += loss;
        sum += loss;
    }
    runner->n_parts = part;
    if (part) return sum;
    snprintf(name, sizeof name, "loss%s", of);
    return pl_runner_scalar(runner, which, name) / n;
}

/* All micro-batches at once. */
static bool run_pipeline(pl_runner *runner, int which, double *loss, pl_err *err)
{
    const int64_t n = runner->job->options.micro;
    char of[16] = "";
    PL_TRY(run_program(runner, which, runner->done, 0, err));
    for (int64_t k = 0; k < n; k++) {
        if (n > 1) snprintf(of, sizeof of, "@%lld", (long long)k);
        *loss += add_losses(runner, which, of);
    }
    return true;
}

static bool run_micro(pl_runner *runner, int last, int before, double *loss, pl_err *err)
{
    const int64_t n = runner->job->options.micro;
    for (int64_t k = 0; k < n; k++) {
        const int which = k < n - 1 ? before : last;
        PL_TRY(run_program(runner, which, runner->done, k, err));
        *loss += add_losses(runner, which, "");
    }
    return true;
}

bool pl_runner_step(pl_runner *runner, double *loss, pl_err *err)
{
    const int rest = pl_job_rest_at(runner->job, runner->done);
    const int last = rest < 0 ? STEP : runner->job->rest_program[rest],
              before = rest < 0 ? MICRO : last + 1;
    *loss = 0;
    for (int i = 0; i < PL_MOST_OBJECTIVES; i++) runner->part[i].loss = 0;
    if (runner->job->options.micro > 1) pl_state_clear(runner->exec, runner->store);
    PL_TRY(take_rows(runner, runner->done, err));
    PL_TRY(runner->job->whole.graph ? run_pipeline(runner, last, loss, err)
                                    : run_micro(runner, last, before, loss, err));
    runner->done++;
    return true;
}

static void add_scores(pl_runner *runner, pl_auc *rows)
{
    const pl_program *p = runner->program[EVAL];
    const pl_port *score = pl_port_find(p->n_outputs, p->output, "score"),
                  *class = pl_port_find(p->n_outputs, p->output, "class");
    if (!score || !class) return;
    const float *x = pl_exec_map(runner->exec, score, PL_READ),
                *y = pl_exec_map(runner->exec, class, PL_READ);
    for (int64_t i = 0, n = pl_shape_count(&score->value->shape); i < n; i++)
        PL_PUSH(runner->arena, rows, ((pl_scored){ x[i], y[i] > 0 }));
    pl_exec_unmap(runner->exec, score, PL_READ, (void *)(uintptr_t)x);
    pl_exec_unmap(runner->exec, class, PL_READ, (void *)(uintptr_t)y);
}

bool pl_runner_evaluate(pl_runner *runner, int64_t i, double *loss, pl_auc *rows, pl_err *err)
{
    PL_TRY(take_rows(runner, -1 - i, err));
    PL_TRY(run_program(runner, EVAL, -1 - i, 0, err));
    *loss = pl_runner_scalar(runner, EVAL, "loss");
    if (rows) add_scores(runner, rows);
    return true;
}

bool pl_runner_save(pl_runner *runner, bool alone, pl_err *err)
{
    const pl_train_job *job = runner->job;
    const pl_manifest manifest = { .model = job->spec,
                                   .step = runner->done,
                                   .seed = job->options.seed,
                                   .data_step = runner->done,
                                   .data = job->options.data,
                                   .data_bytes = job->data.n_bytes,
                                   .data_hash = job->data.hash ? job->data.hash : "",
                                   .settings = job->settings,
                                   .run = job->run };
    const pl_keep keep = { job->options.keep, alone };
    if (runner->caches) {
        pl_caches_flush(runner->caches, runner->exec);
        PL_TRY(pl_exec_agree(runner->exec, err)); /* all of them have */
    }
    if (!runner->rank) pl_hostblock_scatter(&job->tables.block, false);
    const bool ok = pl_state_save(runner->exec, runner->gather, job->n_programs, &job->tables,
                                  job->options.save, &manifest, keep, err);
    if (!runner->rank) pl_hostblock_scatter(&job->tables.block, true);
    return ok;
}
