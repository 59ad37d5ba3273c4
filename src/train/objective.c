/* Objectives: which ones a graph has its outputs say (list_losses); read_one() reads what is said
 * of one. */
#include "train/objective.h"

#include "ops/list.h"

#include <string.h>

static void list_losses(const pl_graph *g, const pl_optim *optim, pl_objectives *list)
{
    const pl_objective like = { .name = "", .optim = *optim, .rate = 1, .every = 1 };
    pl_value *loss[PL_MOST_OBJECTIVES];
    *list = (pl_objectives){ .n = pl_graph_losses(g, PL_MOST_OBJECTIVES, loss) };
    PL_ASSERT(list->n <= PL_MOST_OBJECTIVES);
    for (int i = 0; i < list->n; i++) {
        list->at[i] = like;
        list->at[i].name = pl_graph_objective(loss[i]);
    }
    if (!list->n) list->at[list->n++] = like;
}

static pl_objective *find(pl_objectives *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->at[i].name, name)) return &list->at[i];
    return NULL;
}

static const char *list_names(const pl_objectives *list, pl_arena *arena)
{
    pl_text t = { .arena = arena };
    for (int i = 0; i < list->n; i++) pl_text_add(&t, i ? ", %s" : "%s", list->at[i].name);
    return pl_text_get(&t);
}

/* -- reading ----------------------------------------------------------------------------------- */

typedef struct number_key {
    const char *name;
    double *to, least;
} number_key;

static bool read_value(pl_objective *o, const char *key, const char *value, pl_err *err)
{
    pl_optim *x = &o->optim;
    const number_key keys[] = { { "rate", &o->rate, 0 },         { "beta1", &x->beta1, 0 },
                                { "beta2", &x->beta2, 0 },       { "eps", &x->eps, 0 },
                                { "momentum", &x->momentum, 0 }, { "decay", &x->decay, 0 },
                                { "clip", &x->clip, 0 } };
    if (!strcmp(key, "optimizer")) {
        x->name = value; /* the builder of the step knows which there are */
        x->decay = pl_optim_usual(value).decay;
        return true;
    }
    if (!strcmp(key, "every"))
        return (pl_text_int(value, &o->every) && o->every > 0) ||
               pl_err_set(err, PL_EUSAGE, "every=%s: a number of steps, at least 1", value);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].name, key))
            return (pl_text_real(value, keys[i].to) && *keys[i].to >= keys[i].least) ||
                   pl_err_set(err, PL_EUSAGE, "%s=%s: a number, not below 0", key, value);
    return pl_err_set(err, PL_EUSAGE, "unknown key '%s': there are " PL_OBJECTIVE_KEYS, key);
}

/* "optimizer=adam,beta1=0"; the text is cut up. */
static bool read_keys(pl_objective *o, char *text, pl_err *err)
{
    for (char *at = text, *next; at; at = next) {
        char *value;
        if ((next = strchr(at, ','))) *next++ = 0;
        if (!(value = strchr(at, '=')))
            return pl_err_set(err, PL_EUSAGE, "'%s' has no value: write KEY=VALUE", at);
        *value++ = 0;
        PL_TRY(read_value(o, at, value, err));
    }
    return true;
}

static bool read_one(pl_objectives *list, char *text, pl_arena *arena, pl_err *err)
{
    char *keys = strchr(text, ':');
    if (keys) *keys++ = 0;
    if (list->n == 1)
        return pl_err_set(err, PL_EUSAGE, "the model has one loss: --optimizer is of that");
    pl_objective *o = find(list, text);
    if (!o)
        return pl_err_set(err, PL_EUSAGE, "no objective '%s': there are %s", text,
                          list_names(list, arena));
    return !keys || read_keys(o, keys, err) || pl_err_in(err, "%s", o->name);
}

bool pl_objectives_find(const pl_graph *g, const pl_optim *optim, pl_objectives *out, pl_err *err)
{
    const char *said = optim->objectives ? optim->objectives : "";
    list_losses(g, optim, out);
    char *text = pl_arena_fmt(g->arena, "%s", said);
    for (char *at = *text ? text : NULL, *next; at; at = next) {
        if ((next = strchr(at, ';'))) *next++ = 0;
        if (!read_one(out, at, g->arena, err)) return pl_err_in(err, "objectives '%s'", said);
    }
    for (int i = 0; i < out->n; i++) out->at[i].optim.objectives = NULL;
    return true;
}

pl_optim pl_objectives_usual(const pl_optim *optim, const pl_model_args *args)
{
    pl_optim o = *optim;
    if (!o.objectives) o.objectives = args->model->objectives;
    return o;
}

/* -- steps ------------------------------------------------------------------------------------- */

unsigned pl_objectives_resting(const pl_objectives *list, int64_t done)
{
    unsigned resting = 0;
    for (int i = 0; i < list->n; i++) resting |= (unsigned)(done % list->at[i].every != 0) << i;
    return resting;
}

int64_t pl_objectives_period(const pl_objectives *list)
{
    int64_t period = 1;
    for (int i = 0; i < list->n; i++) {
        int64_t a = period, b = list->at[i].every;
        for (int64_t c; b; a = b, b = c) c = a % b;
        period = period / a * list->at[i].every;
    }
    return period;
}

/* -- one of them ------------------------------------------------------------------------------- */

pl_value *pl_objective_loss(const pl_graph *g, const pl_objective *o)
{
    const char *name = *o->name ? pl_arena_fmt(g->arena, "loss.%s", o->name) : "loss";
    return pl_graph_find(g, name);
}

bool pl_objective_reports(const pl_objective *o, const pl_value *output)
{
    const char *point = strrchr(output->name, '.');
    return point && !strcmp(point + 1, o->name);
}

bool pl_objective_trains(const pl_objective *o, const pl_value *weight)
{
    const size_t n = strlen(o->name);
    if (weight->kind != PL_WEIGHT) return false;
    return !n || (!strncmp(weight->name, o->name, n) && weight->name[n] == '.');
}

static pl_value *input_of(pl_builder *b, const char *name, pl_type type)
{
    pl_value *there = b->err.code ? NULL : pl_graph_find(b->graph, name);
    return there ? there : pl_add_input(b, name, type, PL_SCALAR);
}

pl_value *pl_objective_lr(pl_builder *b, const pl_objective *o)
{
    pl_value *lr = input_of(b, "lr", PL_F32);
    if (o->rate == 1) return lr;
    return PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", o->rate), lr);
}

static pl_value *whole_number(pl_builder *b, int64_t x)
{
    const char *spec = pl_builder_fmt(b, "->; value=%lld to=i64", (long long)x);
    return pl_add_value(b, &pl_op_fill, NULL, spec, 0, NULL);
}

/* (step + every - 1) / every */
pl_value *pl_objective_step(pl_builder *b, const pl_objective *o)
{
    pl_value *step = input_of(b, "step", PL_I64);
    if (o->every == 1) return step;
    step = PL_ADD(b, &pl_op_add, NULL, step, whole_number(b, o->every - 1));
    return PL_ADD(b, &pl_op_div_int, NULL, step, whole_number(b, o->every));
}
