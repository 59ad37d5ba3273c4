/* The making of a job. Read make_job(): model, graphs, data, weights, plan, checkpoint; the
 * folder for checkpoints is claimed first where there is one, else last. What can be refused is
 * refused here, before a rank starts. */
#include "train/job.h"
#include "train/step.h"

#include "ops/lib/all.h"
#include "layouts/strategy.h"
#include "run/folder.h"
#include "train/source.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = PL_TRAIN_STEP, EVAL = PL_TRAIN_EVAL };

/* An evaluation, whose weights are as a step stores them, or as files do. */
static bool build_forward(pl_train_job *j, bool stored, pl_graph **g, pl_err *err)
{
    const pl_optim *o = &j->options.optim;
    pl_builder b = pl_builder_new(j->arena, &pl_ops_all, j->micro.spec);
    pl_model_build(&b, &j->micro, PL_EVAL);
    if (stored && o->masters) pl_add_narrow_weights(&b);
    if (stored && pl_cached_are(&o->cache)) pl_cached_add(&b, &o->cache, j->options.micro);
    return pl_builder_done(&b, g, err);
}

static bool build_graphs(pl_train_job *j, pl_err *err)
{
    const int64_t n = j->options.micro;
    PL_TRY(pl_step_graph(&(pl_trained){ &j->args, &j->options.optim }, n, j->arena, &j->graph[STEP],
                         err));
    PL_TRY(pl_optim_micro(&j->args, n, j->arena, &j->micro, err));
    return build_forward(j, true, &j->graph[EVAL], err);
}

int pl_job_rest_at(const pl_train_job *job, int64_t done)
{
    const unsigned resting = pl_objectives_resting(&job->rests.objectives, done);
    for (int i = 0; i < job->rests.n; i++)
        if (job->rests.at[i].resting == resting) return i;
    return -1;
}

/* Programs of steps in which some objectives rest follow the others; of micro-batches there are two
 * each. */
static bool plan_rests(pl_train_job *j, pl_err *err)
{
    const pl_trained t = { &j->args, &j->options.optim, NULL };
    const bool pipeline = j->plan[STEP]->stages != NULL, micro = j->options.micro > 1 && !pipeline;
    PL_TRY(pl_rests_find(j->graph[STEP], &t, &j->rests, err));
    PL_TRY(pl_rests_plan(&j->rests, j->plan[STEP], j->arena, err));
    for (int i = 0; i < j->rests.n; i++) {
        if (pipeline) PL_TRY(pl_plan_unroll(j->rests.at[i].plan, j->arena, &j->whole_rest[i], err));
        j->rest_program[i] = j->n_programs;
        j->n_programs += micro ? 2 : 1;
    }
    return true;
}

/* The plan of a step is what pleat plan finds for the same model, devices and options; an
 * evaluation has its states where that has them. */
static bool find_plans(pl_train_job *j, pl_err *err)
{
    pl_plan *p;
    PL_TRY(pl_step_find(&j->options.plan, &(pl_trained){ &j->args, &j->options.optim }, j->arena,
                        &j->found, err));
    j->plan[STEP] = j->found->take->plan;
    const pl_graph *g = j->plan[STEP]->graph;
    const bool masters = pl_graph_has_masters(g);
    if (g->micro != j->options.micro || masters != j->options.optim.masters) {
        j->options.micro = g->micro;
        j->options.optim.masters = masters;
        PL_TRY(build_graphs(j, err));
    }
    j->data.fed.micro = j->options.micro;
    /* an evaluation that never runs may need more memory than a step */
    j->n_graphs = j->options.micro > 1 || j->options.eval_batches > 0 ? EVAL + 1 : STEP + 1;
    const bool pipeline = j->plan[STEP]->stages != NULL;
    j->n_programs = j->options.micro > 1 && !pipeline ? PL_TRAIN_MICRO + 1 : j->n_graphs;
    if (pipeline) PL_TRY(pl_plan_unroll(j->plan[STEP], j->arena, &j->whole, err));
    PL_TRY(plan_rests(j, err));
    if (j->n_graphs == 1) return true;
    PL_TRY(pl_strategy_plan(&j->found->strategy, j->graph[EVAL], j->plan[STEP], j->arena, &p, err));
    j->plan[EVAL] = p;
    return true;
}

static bool open_data(pl_train_job *j, pl_err *err)
{
    const pl_train_options *o = &j->options;
    const pl_graph *graphs[] = { j->graph[STEP], j->graph[EVAL] };
    const pl_data_source source = { .data = o->data,
                                    .words = o->words,
                                    .train_share = o->train_share,
                                    .in_order = o->in_order,
                                    .augment = o->augment && *o->augment ? &j->augment : NULL,
                                    .n = 2,
                                    .graph = graphs };
    if (o->fed.find && (o->words || source.augment))
        return pl_err_set(err, PL_EUSAGE, "%s %s: what is fed has none",
                          o->words ? "words" : "augment", o->words ? o->words : o->augment);
    if (!o->fed.find) return pl_data_source_open(&source, &j->args, j->arena, &j->data, err);
    j->data = (pl_data){ .kind = PL_DATA_FED, .fed = o->fed };
    j->options.data = "";
    return true;
}

/* States of the evaluation are those of the model, without an optimizer's. */
static bool open_weights(pl_train_job *job, pl_err *err)
{
    if (job->options.resume)
        return pl_err_set(err, PL_EUSAGE,
                          "--resume goes on from a checkpoint's weights: leave out --weights");
    pl_graph *g;
    return build_forward(job, false, &g, err) &&
           pl_weights_open(job->options.weights, job->arena, &job->weights, err) &&
           pl_weights_match(&job->weights, g, job->options.weights_partial, job->arena,
                            &job->weights_note, err);
}

static const char *schedule_of(const pl_train_options *o)
{
    return o->lr_schedule ? o->lr_schedule : PL_RATE_USUAL;
}

/* What must be equal for a resumed run to go on as if it had never stopped, to the last bit. */
static const char *settings_text(const pl_train_job *job)
{
    const pl_train_options *options = &job->options;
    pl_json_out out = pl_json_begin(job->arena);
    PL_JSON_PUT(&out, "optimizer", options->optim.name, "lr", job->rate.lr, "lr_min",
                job->rate.lr_min, "lr_schedule", schedule_of(options), "warmup", options->warmup);
    PL_JSON_PUT(&out, "beta1", options->optim.beta1, "beta2", options->optim.beta2, "eps",
                options->optim.eps, "momentum", options->optim.momentum, "decay",
                options->optim.decay, "clip", options->optim.clip);
    PL_JSON_PUT(&out, "steps", options->steps, "micro", options->micro, "train_share",
                options->train_share);
    if (job->data.kind == PL_DATA_TENSORS || job->data.kind == PL_DATA_IMAGES)
        pl_json_put_text(&out, "data_order", options->in_order ? "file" : "random");
    if (job->data.kind == PL_DATA_IMAGES)
        pl_json_put_text(&out, "augment", options->augment ? options->augment : "");
    if (job->rests.objectives.n > 1)
        pl_json_put_text(&out, "objectives",
                         pl_objectives_usual(&options->optim, &job->args).objectives);
    return pl_json_end(&out);
}

/* Settings that were written or checked by us; NULL: none. */
static const pl_json *read_settings(const char *text, pl_arena *a)
{
    const pl_json *root = NULL;
    pl_err err = { 0 };
    return text && pl_json_parse(text, strlen(text), PL_JSON_DEPTH, a, &root, &err) ? root : NULL;
}

static void compare_settings(const char *was, const char *is, pl_text *notes)
{
    pl_arena *a = notes->arena;
    const pl_json *before = read_settings(was, a), *now = read_settings(is, a);
    PL_ASSERT(now);
    for (int i = 0; i < now->n; i++) {
        const char *key = now->at[i].key, *mine = pl_json_spell(a, &now->at[i]);
        const pl_json *x = pl_json_find(before, key);
        const char *old = x ? pl_json_spell(a, x) : "not saved";
        if (strcmp(mine, old))
            pl_text_add(notes, "%s%s was %s, is %s", notes->n ? "; " : "", key, old, mine);
    }
}

/* The spec as a checkpoint has it: a model out of a file by its whole path, so that it is found
 * from everywhere. A path that would not be read as one is left as it is. */
static const char *saved_spec(const pl_train_job *job)
{
    const char *spec = job->args.spec, *name = job->args.model->name;
    const size_t n = strlen(name);
    if (!job->args.model->file || strncmp(spec, name, n) != 0) return spec;
    char *path = realpath(name, NULL);
    if (path && !strchr(path, ':')) spec = pl_arena_fmt(job->arena, "%s%s", path, spec + n);
    free(path);
    return spec;
}

/* Without the folder of a model's file: it may have moved. */
static const char *without_folder(const char *spec)
{
    const char *from = spec;
    for (const char *at = spec; *at && *at != ':'; at++)
        if (*at == '/') from = at + 1;
    return from;
}

/* What a resumed run would not go on from; a model or a seed is not changed in the middle. */
static void find_problems(const pl_train_job *job, const pl_manifest *manifest, bool same_model,
                          pl_text *problems)
{
    const pl_json *was = pl_json_find(read_settings(manifest->settings, job->arena), "optimizer");
    const char *optimizer = was ? was->text : NULL;
    if (!same_model)
        pl_text_add(problems, "; the model was '%s' and is '%s'", manifest->model, job->args.spec);
    if (manifest->seed != job->options.seed)
        pl_text_add(problems, "; the seed was %llu and is %llu", (unsigned long long)manifest->seed,
                    (unsigned long long)job->options.seed);
    if (strcmp(manifest->data_hash ? manifest->data_hash : "",
               job->data.hash ? job->data.hash : ""))
        pl_text_add(problems, "; the data were '%s' (%lld bytes) and now have other contents",
                    manifest->data, (long long)manifest->data_bytes);
    if (optimizer && strcmp(optimizer, job->options.optim.name))
        pl_text_add(problems, "; the optimizer was %s and is %s", optimizer,
                    job->options.optim.name);
}

static bool open_checkpoint(pl_train_job *job, pl_err *err)
{
    PL_TRY(pl_checkpoint_open(job->options.resume, job->arena, &job->from, err));
    const pl_manifest *manifest = &job->from.manifest;
    pl_text problems = { .arena = job->arena };
    bool same_model = !strcmp(without_folder(manifest->model), without_folder(job->args.spec));
    find_problems(job, manifest, same_model, &problems);
    if (problems.n && same_model)
        pl_text_add(&problems, "; --weights %s takes its weights alone, for a new run",
                    job->options.resume);
    if (problems.n)
        return pl_err_set(err, PL_EINPUT, "cannot resume %s: %s", job->options.resume,
                          pl_text_get(&problems) + 2);
    if (manifest->step > job->options.steps)
        return pl_err_set(err, PL_EINPUT, "%s has done %lld steps, --steps is %lld",
                          job->options.resume, (long long)manifest->step,
                          (long long)job->options.steps);
    pl_text notes = { .arena = job->arena };
    compare_settings(manifest->settings, job->settings, &notes);
    job->notes = pl_text_get(&notes);
    return true;
}

/* Tables that devices have caches of lie in the memory of this process, once for all ranks. */
static bool open_tables(pl_train_job *job, pl_err *err)
{
    const pl_train_options *o = &job->options;
    const pl_graph *g = job->plan[STEP]->graph;
    const int64_t bytes = pl_tables_bytes(g);
    uint64_t pool;
    if (!bytes) return true;
    const int64_t all = o->exec.backends[0]->device->memory(&pool);
    if (o->apart)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "--cache: the ranks are in several processes, which share no tables: run "
                          "them as threads of one, without mpirun");
    if (!o->exec.host_dir && bytes > all)
        return pl_err_set(err, PL_EINFEASIBLE,
                          "the tables need %s, this machine has %s: give --host-dir a folder with "
                          "room for them",
                          pl_text_size(job->arena, (double)bytes),
                          pl_text_size(job->arena, (double)all));
    job->counts = pl_counts_take(&job->data, g, job->arena);
    const pl_init from = pl_train_initial(job);
    return pl_tables_open(g, o->exec.host_dir, &from, o->resume ? &job->from : NULL, job->arena,
                          &job->tables, err);
}

/* The folder for checkpoints is this run's from here on. One that is not there yet is made last,
 * when nothing else can be refused. */
static bool claim_folder(pl_train_job *job, bool last, pl_err *err)
{
    const pl_claim_want want = { job->options.save, job->options.resume, job->options.overwrite };
    if (!job->options.save || job->options.rank || job->claim.lock) return true;
    if (last)
        PL_TRY(pl_folder_open(job->options.save, err));
    else if (!pl_file_is_folder(job->options.save))
        return true;
    PL_TRY(pl_claim_take(&want, job->arena, &job->claim, err));
    return !(job->claim.same_run && job->options.overwrite) ||
           pl_err_set(err, PL_EUSAGE,
                      "--resume goes on with the run in %s, --overwrite begins anew: leave one out",
                      job->options.save);
}

/* Mixed pictures have inputs of their own, which a key of the model adds. */
static bool read_augment(pl_train_job *job, pl_err *err)
{
    PL_TRY(pl_augment_parse(job->options.augment, &job->augment, err));
    if (!(job->augment.mixup > 0)) return true;
    if (!pl_model_has(&job->args, "mixup"))
        return pl_err_set(err, PL_EUSAGE,
                          "--augment %s: '%s' does not mix pictures: built-in models of images do",
                          job->options.augment, job->args.model->name);
    const pl_model_args args = job->args;
    return pl_model_set(&args, "mixup", "1", job->arena, &job->args, err);
}

static bool reads_text(const pl_model_args *args)
{
    return !strcmp(args->model->data, "text");
}

static bool find_rate(pl_train_job *job, pl_err *err)
{
    const pl_train_options *o = &job->options;
    double times = 1;
    if (o->lr_scaling)
        PL_TRY(pl_rate_scale(o->lr_scaling, pl_model_int(&job->args, "batch"), &times, err));
    job->rate = (pl_rate){
        .lr = times * o->lr, .lr_min = times * o->lr_min, .steps = o->steps, .warmup = o->warmup
    };
    return pl_rate_read(schedule_of(o), &job->rate, job->arena, err);
}

static bool make_job(pl_train_job *job, pl_err *err)
{
    PL_TRY(claim_folder(job, false, err));
    if (!job->options.plan.strategy.text)
        PL_TRY(pl_strategy_parse(job->options.strategy, job->n_ranks, job->arena,
                                 &job->options.plan.strategy, err));
    if (job->options.args) job->args = *job->options.args;
    if (!job->options.args) PL_TRY(pl_model_parse(job->options.model, job->arena, &job->args, err));
    PL_TRY(find_rate(job, err));
    PL_TRY(read_augment(job, err));
    PL_TRY(pl_step_settle(&job->options.plan.strategy, &job->options.micro, &job->options.optim,
                          job->arena, err));
    job->tokens = pl_model_int(&job->args, "batch") *
                  (reads_text(&job->args) ? pl_model_int(&job->args, "seq") : 1);
    PL_TRY(build_graphs(job, err));
    PL_TRY(open_data(job, err));
    if (job->options.weights_partial && !job->options.weights)
        return pl_err_set(err, PL_EUSAGE, "--weights-partial is of --weights: give that too");
    if (job->options.weights) PL_TRY(open_weights(job, err));
    PL_TRY(find_plans(job, err));
    job->settings = settings_text(job);
    if (job->options.resume) PL_TRY(open_checkpoint(job, err));
    PL_TRY(open_tables(job, err));
    const char *was = job->claim.same_run ? job->from.manifest.run : "";
    job->spec = saved_spec(job);
    job->run = *was ? was : pl_claim_name_run(job->arena);
    return claim_folder(job, true, err);
}

pl_init pl_train_initial(const pl_train_job *job)
{
    pl_init from = { .seed = job->options.seed, .file = pl_init_model(&job->args) };
    if (job->options.weights) from.weights = pl_weights_source(&job->weights);
    return from;
}

bool pl_train_new(const pl_train_options *options, int n_ranks, pl_arena *arena, pl_train_job **out,
                  pl_err *err)
{
    pl_train_job *job = PL_NEW(arena, pl_train_job);
    *job = (pl_train_job){
        .options = *options, .n_ranks = n_ranks, .arena = arena, .notes = "", .weights_note = ""
    };
    if (!options->strategy) job->options.strategy = "dp";
    *out = job;
    if (make_job(job, err)) return true;
    pl_train_free(job);
    return false;
}

void pl_train_free(pl_train_job *job)
{
    pl_data_free(&job->data);
    pl_weights_free(&job->weights);
    if (job->from.map) pl_checkpoint_free(&job->from);
    pl_claim_release(&job->claim);
    pl_tables_free(&job->tables);
}

const char *pl_train_model(const pl_train_job *job)
{
    return job->args.spec;
}

const pl_graph *pl_train_graph(const pl_train_job *job)
{
    return job->graph[STEP];
}

const char *pl_train_unit(const pl_train_job *job)
{
    return reads_text(&job->args) ? "tokens" : "samples";
}

const pl_data *pl_train_data(const pl_train_job *job)
{
    return &job->data;
}

const char *pl_train_notes(const pl_train_job *job)
{
    return job->notes;
}

const char *pl_train_doubts(const pl_train_job *job)
{
    return pl_model_doubts(&job->args);
}

const char *pl_train_weights(const pl_train_job *job)
{
    return job->weights_note;
}

int64_t pl_train_tables(const pl_train_job *job)
{
    return pl_tables_bytes(job->plan[STEP]->graph);
}

bool pl_train_unlocked(const pl_train_job *job)
{
    return job->claim.unlocked;
}

const pl_found *pl_train_found(const pl_train_job *job)
{
    return job->found;
}

const pl_cluster *pl_train_cluster(const pl_train_job *job)
{
    const pl_strategy *s = &job->found->strategy;
    return job->options.plan.cluster || s->plan_path || s->automatic ? s->cluster : NULL;
}
