/* A model out of an .onnx file. Read pl_file_model_open() at the end: its sizes become keys
 * (add_sizes), and a trial tells whether it has a loss (try_out); then build(), which adds the
 * graph with the inputs that go without saying as constants. */
#include "models/file.h"

#include "import/onnx.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <string.h>

enum { MOST_KEYS = 40, MOST_OUTPUTS = 64, USUAL_SEQ = 128 };

typedef struct onnx_model {
    pl_onnx *onnx;
    const char *symbol[MOST_KEYS]; /* by key: what it binds; NULL: none                          */
    bool fixed[MOST_KEYS]; /* by key: the file says it                                     */
    pl_model_key key[MOST_KEYS + 1];
    int n;
    int batch, seq;     /* keys                                                         */
    const char *doubts; /* of a guess of what trains, a line each                       */
} onnx_model;

bool pl_file_model_is(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, ".onnx");
}

/* -- inputs that go without saying ------------------------------------------------------------- */

enum { FED, ONES, ZEROS, POSITIONS };

static int kind_of(const pl_onnx_port *port)
{
    static const struct {
        const char *name;
        int kind;
    } known[] = {
        { "attention_mask", ONES },      { "decoder_attention_mask", ONES },
        { "token_type_ids", ZEROS },     { "position_ids", POSITIONS },
        { "cache_position", POSITIONS },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, port->name) && port->rank >= 1 && port->rank <= 2)
            return known[i].kind;
    return FED;
}

static int64_t size_of(const onnx_model *f, const pl_onnx_bind bind[], const pl_onnx_port *p, int i)
{
    for (int k = 0; k < f->n && p->dim[i] < 0; k++)
        if (bind[k].symbol && !strcmp(bind[k].symbol, p->symbol[i])) return bind[k].size;
    return p->dim[i];
}

static pl_tensor make_constant(const onnx_model *model, const pl_onnx_bind bind[],
                               const pl_onnx_port *port, pl_arena *arena)
{
    pl_shape s = { port->rank, { 0 } };
    for (int i = 0; i < port->rank; i++) s.dim[i] = size_of(model, bind, port, i);
    const int64_t n = pl_shape_count(&s), row = s.dim[s.rank - 1];
    char *data = pl_arena_get(arena, (size_t)n + 1, (size_t)pl_type_bytes(port->type));
    for (int64_t i = 0; i < n; i++)
        pl_type_put(port->type, data, i,
                    kind_of(port) == ONES    ? 1
                    : kind_of(port) == ZEROS ? 0
                                             : (double)(i % row));
    return pl_tensor_of(port->type, &s, data);
}

/* -- the graph --------------------------------------------------------------------------------- */

/* What a building takes: sizes by key, and which tensors train. */
typedef struct terms {
    int64_t size[MOST_KEYS];
    const char *weights, *frozen;
    bool guess, train;
} terms;

/* Binds and constants of one building, in the arena. */
static pl_onnx_options make_options(const onnx_model *model, const terms *t, pl_arena *arena)
{
    const int64_t *size = t->size;
    pl_onnx_bind *bind = PL_NEW_N(arena, pl_onnx_bind, model->n + 1);
    pl_onnx_fixed *fixed = PL_NEW_N(arena, pl_onnx_fixed, model->onnx->n_in + 1);
    pl_onnx_options o = { .bind = bind,
                          .fixed = fixed,
                          .train = t->train,
                          .weights = t->weights,
                          .frozen = t->frozen,
                          .guess = t->guess };
    for (int k = 0; k < model->n; k++)
        if (model->symbol[k]) bind[o.n_binds++] = (pl_onnx_bind){ model->symbol[k], size[k] };
    for (int i = 0; i < model->onnx->n_in; i++) {
        const pl_onnx_port *p = &model->onnx->in[i];
        if (kind_of(p) == FED) continue;
        fixed[o.n_fixed++] = (pl_onnx_fixed){ p->name, make_constant(model, bind, p, arena) };
    }
    return o;
}

/* mean((y - target)^2) */
static pl_value *squared_error(pl_builder *b, pl_value *y)
{
    pl_value *d = PL_ADD(b, &pl_op_sub, NULL, y, pl_add_input(b, "target", y->type, y->shape));
    pl_value *sum =
        d ? PL_ADD(b, &pl_op_reduce_sum, "...->", PL_ADD(b, &pl_op_mul, NULL, d, d)) : NULL;
    const double n = (double)pl_shape_count(&y->shape);
    return sum ? PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / n), sum) : NULL;
}

/* A loss of shape [1], as some exporters leave it, is a scalar. */
static pl_value *as_scalar(pl_builder *b, pl_value *y)
{
    if (pl_shape_count(&y->shape) != 1 || !pl_type_is_float(y->type)) {
        pl_err_set(
            &b->err, PL_EINPUT,
            "loss=graph: the output is %s, not one number; give loss=cross-entropy or mse, or "
            "the name of another output with output=",
            pl_shape_text(b->graph->arena, y->type, &y->shape));
        return NULL;
    }
    return PL_ADD(b, &pl_op_reduce_sum, "...->", y);
}

static void finish(pl_builder *b, const char *loss, pl_value *y, pl_mode mode)
{
    if (!y || b->err.code) return;
    if (!strcmp(loss, "cross-entropy") && (!y->shape.rank || !pl_type_is_float(y->type))) {
        pl_err_set(&b->err, PL_EINPUT,
                   "loss=cross-entropy: the output is %s; logits have their "
                   "classes in the last dimension",
                   pl_shape_text(b->graph->arena, y->type, &y->shape));
        return;
    }
    if (!strcmp(loss, "cross-entropy")) {
        pl_model_finish(b, mode, y, y->shape.rank == 3 ? "targets" : "label");
        if (mode == PL_EVAL && y->shape.rank == 2) pl_model_accuracy(b, y);
    } else if (mode == PL_INFER) {
        pl_add_output(b, "logits", y);
    } else {
        pl_add_output(b, "loss", !strcmp(loss, "mse") ? squared_error(b, y) : as_scalar(b, y));
    }
}

static int find_output(const pl_onnx *f, const char *name)
{
    for (int i = 0; i < f->n_out; i++)
        if (!strcmp(f->out[i].name, name)) return i;
    return -1;
}

static const onnx_model *file_of(const pl_model_args *a)
{
    return a->model->file;
}

static bool check_fixed(pl_builder *b, const onnx_model *model, const pl_model_args *args)
{
    for (int k = 0; k < model->n; k++)
        if (model->fixed[k] && strcmp(args->value[k], model->key[k].value) != 0)
            return pl_err_set(
                &b->err, PL_EINPUT,
                "%s: %s is %s in the file: export it with a symbolic size there to change "
                "it",
                args->model->name, model->key[k].name, model->key[k].value);
    return true;
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const onnx_model *f = file_of(args);
    pl_value *out[MOST_OUTPUTS] = { 0 };
    terms t = { .weights = pl_model_word(args, "train"),
                .frozen = pl_model_word(args, "freeze"),
                .guess = !strcmp(pl_model_word(args, "guess"), "yes"),
                .train = mode == PL_TRAIN };
    if (!check_fixed(b, f, args)) return;
    for (int k = 0; k < f->n; k++)
        if (!f->key[k].words && pl_text_int(args->value[k], &t.size[k])) continue;
    const char *name = pl_model_word(args, "output");
    const int which = find_output(f->onnx, name);
    if (which < 0) {
        pl_err_set(&b->err, PL_EINPUT, "%s: no output '%s'; the first is '%s'", args->model->name,
                   name, f->onnx->out[0].name);
        return;
    }
    const pl_onnx_options o = make_options(f, &t, b->graph->arena);
    pl_onnx_add(b, f->onnx, &o, out);
    finish(b, pl_model_word(args, "loss"), out[which], mode);
}

const pl_tensor *pl_model_tensor(const pl_model_args *args, const char *name)
{
    if (!args->model->file) return NULL;
    return pl_onnx_tensor(file_of(args)->onnx, name);
}

/* -- keys -------------------------------------------------------------------------------------- */

static int add_key(onnx_model *model, const char *name, const char *value, const char *symbol,
                   const char *about, const char *words)
{
    if (model->n == MOST_KEYS) return -1;
    model->symbol[model->n] = symbol;
    model->key[model->n] = (pl_model_key){ name, value, 1, about, words };
    return model->n++;
}

static const char *number(pl_arena *a, int64_t x)
{
    return pl_arena_fmt(a, "%lld", (long long)x);
}

static bool has_symbol(const onnx_model *f, const char *symbol)
{
    for (int k = 0; k < f->n; k++)
        if (f->symbol[k] && !strcmp(f->symbol[k], symbol)) return true;
    return false;
}

static bool has_key(const onnx_model *f, const char *name)
{
    for (int k = 0; k < f->n; k++)
        if (!strcmp(f->key[k].name, name)) return true;
    return false;
}

/* The key of dimension i of a port, by the usual name, or fixed to what the file says. */
static int add_size(onnx_model *model, const pl_onnx_port *port, int i, const char *name,
                    int64_t usual, const char *about, pl_arena *arena)
{
    const bool open = port->dim[i] < 0;
    int k = add_key(model, name, number(arena, open ? usual : port->dim[i]),
                    open ? port->symbol[i] : NULL, about, NULL);
    model->fixed[k] = !open;
    return k;
}

/* Names of keys are words: what is none in a symbol becomes '_'. */
static const char *word_of(const char *symbol, pl_arena *arena)
{
    char *text = pl_arena_text(arena, symbol);
    for (char *at = text; *at; at++)
        if (strchr(":,= '\"", *at)) *at = '_';
    return text;
}

static bool add_sizes(onnx_model *model, pl_arena *arena, pl_err *err)
{
    const pl_onnx *x = model->onnx;
    model->batch = model->seq = -1;
    for (int i = 0; i < x->n_in; i++) {
        const pl_onnx_port *p = &x->in[i];
        if (model->batch < 0 && p->rank > 0)
            model->batch =
                add_size(model, p, 0, "batch", 1, "rows per step, over all devices", arena);
        if (model->seq < 0 && p->rank == 2 && !pl_type_is_float(p->type))
            model->seq = add_size(model, p, 1, "seq", USUAL_SEQ, "positions per row", arena);
        for (int d = 0; d < p->rank; d++) {
            const char *symbol = p->symbol[d], *name = word_of(symbol, arena);
            if (p->dim[d] >= 0 || has_symbol(model, symbol)) continue;
            if (!*name || has_key(model, name)) name = pl_arena_fmt(arena, "%s.%d", p->name, d);
            if (add_key(model, name, "1", symbol, "a symbolic size of the file", NULL) < 0)
                return pl_err_set(err, PL_EUNSUPPORTED, "more than %d symbolic sizes", MOST_KEYS);
        }
    }
    if (model->batch < 0)
        model->batch = add_key(model, "batch", "1", NULL, "there are no rows", NULL);
    return true;
}

/* -- what a trial tells ------------------------------------------------------------------------ */

/* Rows of the table that the first input of whole numbers looks up; 0: there is none. */
static int64_t find_vocab(const pl_graph *graph)
{
    for (int i = 0; i < graph->nodes.n; i++) {
        const pl_node *n = graph->nodes.at[i];
        if (n->op == &pl_op_embedding && n->in[1]->role == PL_INPUT && n->in[0]->role == PL_STATE)
            return n->in[0]->shape.dim[0];
    }
    return 0;
}

/* The value of a key in "batch=8,seq=64"; the last one counts. */
static const char *given(const char *keys, const char *name, const char *usual, pl_arena *arena)
{
    const size_t n = strlen(name);
    for (size_t len; *keys; keys += len + (keys[len] == ',')) {
        len = strcspn(keys, ",");
        if (len > n && !strncmp(keys, name, n) && keys[n] == '=')
            usual = pl_arena_span(arena, keys + n + 1, len - n - 1);
    }
    return usual;
}

/* Build once, with the sizes that are given, else the usual ones: is the loss there, how many
 * classes are there, what has to be guessed? */
static bool try_out(onnx_model *model, const char *path, const char *keys, pl_arena *arena,
                    pl_err *err)
{
    pl_arena *tmp = pl_arena_new("trial of a file");
    pl_builder b = pl_builder_new(tmp, &pl_ops_all, path);
    pl_value *out[MOST_OUTPUTS] = { 0 };
    pl_text doubts = { .arena = arena };
    terms t = { .weights = given(keys, "train", "", tmp),
                .frozen = given(keys, "freeze", "", tmp),
                .guess = !strcmp(given(keys, "guess", "no", tmp), "yes") };
    for (int k = 0; k < model->n; k++)
        if (!pl_text_int(given(keys, model->key[k].name, model->key[k].value, tmp), &t.size[k]) ||
            t.size[k] < 1)
            t.size[k] = 1;
    pl_onnx_options o = make_options(model, &t, tmp);
    o.doubts = &doubts;
    pl_onnx_add(&b, model->onnx, &o, out);
    model->doubts = pl_text_get(&doubts);
    const bool ok = !b.err.code;
    if (ok) {
        const pl_shape *s = &out[0]->shape;
        const bool scalar = pl_shape_count(s) == 1 && s->rank <= 1;
        const int64_t vocab = find_vocab(b.graph);
        add_key(model, "loss", scalar ? "graph" : "cross-entropy", NULL,
                "cross-entropy or mse of the output, or graph: it is the loss",
                "cross-entropy mse graph");
        add_key(model, "output", model->onnx->out[0].name, NULL, "that the loss is of", "*");
        if (vocab)
            model->fixed[add_key(model, "vocab", number(arena, vocab), NULL, "tokens", NULL)] =
                true;
        if (!scalar)
            model->fixed[add_key(model, "classes", number(arena, s->dim[s->rank - 1]), NULL,
                                 "of the first output", NULL)] = true;
    } else {
        *err = b.err;
    }
    pl_arena_free(tmp);
    return ok;
}

const char *pl_file_model_doubts(const pl_family *family)
{
    const onnx_model *f = family->file;
    return f->doubts;
}

bool pl_file_model_open(const char *path, const char *keys, pl_arena *arena, const pl_family **out,
                        pl_err *err)
{
    static const pl_model_key dtype = PL_MODEL_DTYPE;
    onnx_model *f = PL_NEW(arena, onnx_model);
    pl_family *m = PL_NEW(arena, pl_family);
    PL_TRY(pl_onnx_open(path, arena, &f->onnx, err));
    if (f->onnx->n_out > MOST_OUTPUTS)
        return pl_err_set(err, PL_EUNSUPPORTED, "%s: %d outputs, the most is %d", path,
                          f->onnx->n_out, MOST_OUTPUTS);
    if (!add_sizes(f, arena, err) || f->n > MOST_KEYS - 8) return pl_err_in(err, "%s", path);
    PL_TRY(try_out(f, path, keys, arena, err));
    add_key(f, "train", "", NULL, "globs, with ';' between: these tensors train, no others", "*");
    add_key(f, "freeze", "", NULL, "globs, with ';' between: these do not", "*");
    add_key(f, "guess", "no", NULL, "train what a guess says, also where it learns badly",
            "no yes");
    f->key[f->n] = dtype;
    *m = (pl_family){ .name = pl_arena_text(arena, path),
                      .about = "out of a file",
                      .data = f->seq >= 0 ? "text" : "tensors",
                      .keys = f->key,
                      .build = build,
                      .file = f };
    *out = m;
    return true;
}
