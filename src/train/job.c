#include "train/job.h"

#include "ops/lib/all.h"
#include "layouts/strategy.h"
#include "run/folder.h"
#include "train/data_tensors.h"
#include "train/data_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEP = PL_TRAIN_STEP, EVAL = PL_TRAIN_EVAL, UPDATE = PL_TRAIN_UPDATE };

static bool build_step(pl_train_job *j, pl_err *err)
{
    bool once = j->o.micro == 1;
    pl_builder b = pl_optim_step(&j->micro, once ? &j->o.optim : NULL, j->arena);
    if (once) return pl_builder_done(&b, &j->graph[STEP], err);
    pl_builder update = pl_builder_new(j->arena, &pl_ops_all, j->micro.spec);
    pl_value *loss = b.err.code ? NULL : pl_graph_find(b.graph, "loss");
    pl_optim_accumulate(&b, &j->o.optim, loss, j->o.micro, &update);
    return pl_builder_done(&b, &j->graph[STEP], err) &&
           pl_builder_done(&update, &j->graph[UPDATE], err);
}

static bool build_evaluation(pl_train_job *j, pl_err *err)
{
    pl_builder b = pl_builder_new(j->arena, &pl_ops_all, j->micro.spec);
    pl_model_build(&b, &j->micro, PL_EVAL);
    return pl_builder_done(&b, &j->graph[EVAL], err);
}

static bool reads_text(const pl_train_job *j, pl_err *err)
{
    return !strcmp(j->args.model->data, "text") ||
           pl_err_set(err, PL_EUNSUPPORTED,
                      "model '%s' reads %s, and this is a text file: give FILE" PL_TENSORS_ENDING
                      " with its inputs, or use --data synthetic",
                      j->args.model->name, j->args.model->data);
}

/* A text file fills rows of tokens, and nothing else. */
static bool check_text_inputs(const pl_graph *g, pl_err *err)
{
    for (int i = 0; i < g->values.n; i++) {
        const pl_value *v = g->values.at[i];
        if (v->role != PL_INPUT || pl_data_is_scalar(v->name)) continue;
        if (v->shape.rank != 2 || pl_type_is_float(v->type))
            return pl_err_set(err, PL_EUNSUPPORTED,
                              "the model reads '%s' too, %s: a text file gives rows of tokens "
                              "alone; give FILE" PL_TENSORS_ENDING
                              " with its inputs, or use --data synthetic",
                              v->name, pl_shape_text(g->arena, v->type, &v->shape));
    }
    return true;
}

static bool open_text(pl_train_job *j, pl_err *err)
{
    const pl_model_args *a = &j->args;
    PL_TRY(check_text_inputs(j->graph[STEP], err));
    if (pl_model_int(a, "vocab") < 256)
        return pl_err_set(err, PL_EINPUT,
                          "vocab=%lld is too small: the tokens of a file are its bytes, "
                          "write vocab=256",
                          (long long)pl_model_int(a, "vocab"));
    if (pl_model_labels(a) < 256)
        return pl_err_set(
            err, PL_EINPUT, "classes=%lld are too few: the labels of a text file are its bytes, %s",
            (long long)pl_model_labels(a),
            pl_model_has(a, "classes") ? "write classes=256" : "which makes 256 classes");
    return pl_data_text_open(j->o.data, j->o.train_share, pl_model_int(a, "seq"), j->arena,
                             &j->data, err);
}

/* Of tensors the graphs say what they have to be; text is checked before they are built. */
static bool open_tensors(pl_train_job *j, pl_err *err)
{
    const pl_graph *graphs[] = { j->graph[STEP], j->graph[EVAL] };
    return pl_data_tensors_open(j->o.data, j->o.train_share, j->o.in_order, 2, graphs, j->arena,
                                &j->data, err);
}

/* States of the evaluation are those of the model, without an optimizer's. */
static bool open_weights(pl_train_job *j, pl_err *err)
{
    if (j->o.resume)
        return pl_err_set(err, PL_EUSAGE,
                          "--resume goes on from a checkpoint's weights: leave out --weights");
    return pl_weights_open(j->o.weights, j->arena, &j->weights, err) &&
           pl_weights_match(&j->weights, j->graph[EVAL], j->o.weights_partial, j->arena,
                            &j->weights_note, err);
}

/* What must be equal for a resumed run to go on as if it had never stopped, to the last bit. */
static const char *settings_text(const pl_train_job *j)
{
    const pl_train_options *o = &j->o;
    pl_json_out out = pl_json_begin(j->arena);
    PL_JSON_PUT(&out, "optimizer", o->optim.name, "lr", o->lr, "lr_min", o->lr_min, "warmup",
                o->warmup, "beta1", o->optim.beta1, "beta2", o->optim.beta2, "eps", o->optim.eps,
                "momentum", o->optim.momentum);
    PL_JSON_PUT(&out, "decay", o->optim.decay, "clip", o->optim.clip, "steps", o->steps, "micro",
                o->micro, "train_share", o->train_share);
    if (j->data.kind == PL_DATA_TENSORS)
        pl_json_put_text(&out, "data_order", o->in_order ? "file" : "random");
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
static const char *saved_spec(const pl_train_job *j)
{
    const char *spec = j->args.spec, *name = j->args.model->name;
    const size_t n = strlen(name);
    if (!j->args.model->file || strncmp(spec, name, n) != 0) return spec;
    char *path = realpath(name, NULL);
    if (path && !strchr(path, ':')) spec = pl_arena_fmt(j->arena, "%s%s", path, spec + n);
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
static void find_problems(const pl_train_job *j, const pl_manifest *m, bool same_model,
                          pl_text *problems)
{
    const pl_json *was = pl_json_find(read_settings(m->settings, j->arena), "optimizer");
    const char *optimizer = was ? was->text : NULL;
    if (!same_model)
        pl_text_add(problems, "; the model was '%s' and is '%s'", m->model, j->args.spec);
    if (m->seed != j->o.seed)
        pl_text_add(problems, "; the seed was %llu and is %llu", (unsigned long long)m->seed,
                    (unsigned long long)j->o.seed);
    if (strcmp(m->data_hash ? m->data_hash : "", j->data.hash ? j->data.hash : ""))
        pl_text_add(problems, "; the data were '%s' (%lld bytes) and now have other contents",
                    m->data, (long long)m->data_bytes);
    if (optimizer && strcmp(optimizer, j->o.optim.name))
        pl_text_add(problems, "; the optimizer was %s and is %s", optimizer, j->o.optim.name);
}

static bool open_checkpoint(pl_train_job *j, pl_err *err)
{
    PL_TRY(pl_checkpoint_open(j->o.resume, j->arena, &j->from, err));
    const pl_manifest *m = &j->from.manifest;
    pl_text problems = { .arena = j->arena };
    bool same_model = !strcmp(without_folder(m->model), without_folder(j->args.spec));
    find_problems(j, m, same_model, &problems);
    if (problems.n && same_model)
        pl_text_add(&problems, "; --weights %s takes its weights alone, for a new run",
                    j->o.resume);
    if (problems.n)
        return pl_err_set(err, PL_EINPUT, "cannot resume %s: %s", j->o.resume,
                          pl_text_get(&problems) + 2);
    if (m->step > j->o.steps)
        return pl_err_set(err, PL_EINPUT, "%s has done %lld steps, --steps is %lld", j->o.resume,
                          (long long)m->step, (long long)j->o.steps);
    pl_text notes = { .arena = j->arena };
    compare_settings(m->settings, j->settings, &notes);
    j->notes = pl_text_get(&notes);
    return true;
}

/* The folder for checkpoints is this run's from here on. One that is not there yet is made last,
 * when nothing else can be refused. */
static bool claim_folder(pl_train_job *j, bool last, pl_err *err)
{
    const pl_claim_want want = { j->o.save, j->o.resume, j->o.overwrite };
    struct stat s;
    if (!j->o.save || j->o.rank || j->claim.lock) return true;
    if (last)
        PL_TRY(pl_folder_open(j->o.save, err));
    else if (stat(j->o.save, &s) || !S_ISDIR(s.st_mode))
        return true;
    PL_TRY(pl_claim_take(&want, j->arena, &j->claim, err));
    return !(j->claim.same_run && j->o.overwrite) ||
           pl_err_set(err, PL_EUSAGE,
                      "--resume goes on with the run in %s, --overwrite begins anew: leave one out",
                      j->o.save);
}

static bool make_job(pl_train_job *j, pl_err *err)
{
    PL_TRY(claim_folder(j, false, err));
    if (!j->o.plan.strategy.text)
        PL_TRY(pl_strategy_parse(j->o.strategy, j->n_ranks, j->arena, &j->o.plan.strategy, err));
    if (j->o.args) j->args = *j->o.args;
    if (!j->o.args) PL_TRY(pl_model_parse(j->o.model, j->arena, &j->args, err));
    PL_TRY(pl_optim_micro(&j->args, j->o.micro, j->arena, &j->micro, err));
    const pl_data_kind kind = j->o.fed.find ? PL_DATA_FED : pl_data_kind_of(j->o.data);
    if (kind == PL_DATA_FED) j->o.data = "";
    bool text = !strcmp(j->args.model->data, "text");
    j->tokens = pl_model_int(&j->args, "batch") * (text ? pl_model_int(&j->args, "seq") : 1);
    if (kind == PL_DATA_TEXT) PL_TRY(reads_text(j, err));
    PL_TRY(build_step(j, err));
    PL_TRY(build_evaluation(j, err));
    if (kind == PL_DATA_TEXT) PL_TRY(open_text(j, err));
    if (kind == PL_DATA_FED) j->data = (pl_data){ .kind = kind, .fed = j->o.fed };
    if (kind == PL_DATA_TENSORS) PL_TRY(open_tensors(j, err));
    if (j->o.weights_partial && !j->o.weights)
        return pl_err_set(err, PL_EUSAGE, "--weights-partial is of --weights: give that too");
    if (j->o.weights) PL_TRY(open_weights(j, err));
    /* That of the step is what pleat plan finds for the same model, devices and options. */
    PL_TRY(
        pl_plan_find_all(&j->o.plan, j->n_programs, j->graph, j->arena, j->plan, &j->found, err));
    j->settings = settings_text(j);
    if (j->o.resume) PL_TRY(open_checkpoint(j, err));
    const char *was = j->claim.same_run ? j->from.manifest.run : "";
    j->spec = saved_spec(j);
    j->run = *was ? was : pl_claim_name_run(j->arena);
    return claim_folder(j, true, err);
}

bool pl_train_new(const pl_train_options *o, int n_ranks, pl_arena *arena, pl_train_job **out,
                  pl_err *err)
{
    pl_train_job *j = PL_NEW(arena, pl_train_job);
    *j = (pl_train_job){
        .o = *o, .n_ranks = n_ranks, .arena = arena, .notes = "", .weights_note = ""
    };
    if (!o->strategy) j->o.strategy = "dp";
    if (!o->micro) j->o.micro = 1;
    /* An evaluation that never runs may need more memory than a step. */
    j->n_programs = j->o.micro > 1 ? UPDATE + 1 : o->eval_batches > 0 ? EVAL + 1 : STEP + 1;
    *out = j;
    if (make_job(j, err)) return true;
    pl_train_free(j);
    return false;
}

void pl_train_free(pl_train_job *j)
{
    pl_data_free(&j->data);
    pl_weights_free(&j->weights);
    if (j->from.map) pl_checkpoint_free(&j->from);
    pl_claim_release(&j->claim);
}

const pl_graph *pl_train_graph(const pl_train_job *j)
{
    return j->graph[STEP];
}

const pl_data *pl_train_data(const pl_train_job *j)
{
    return &j->data;
}

const char *pl_train_notes(const pl_train_job *j)
{
    return j->notes;
}

const char *pl_train_doubts(const pl_train_job *j)
{
    return pl_model_doubts(&j->args);
}

const char *pl_train_weights(const pl_train_job *j)
{
    return j->weights_note;
}

bool pl_train_unlocked(const pl_train_job *j)
{
    return j->claim.unlocked;
}

const pl_found *pl_train_found(const pl_train_job *j)
{
    return j->found;
}

const pl_cluster *pl_train_cluster(const pl_train_job *j)
{
    const pl_strategy *s = &j->found->strategy;
    return j->o.plan.cluster || s->plan_path || s->automatic ? s->cluster : NULL;
}
