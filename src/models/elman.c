/* An Elman network that reads the rows of a grey picture one after the other and tells its class by
 * its last state, or tokens of a text and tells the next one: a_t = U x_t + W s_{t-1} + b,
 * s_t = tanh(a_t), o = V s_T + c. With steps=1 it reads the picture at once. It is trained by
 * gradients, or by method=admm in sweeps (admm.h).
 * Source: Elman, "Finding structure in time", 1990; Tang et al., ADMMiRNN, 2020. */
#include "models/admm.h"
#include "models/join.h"
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

/* The key init, or 1 / sqrt(in). */
static pl_value *add_weight(const pl_layers *l, const pl_model_args *args, const char *name,
                            pl_shape shape)
{
    const double init = pl_model_real(args, "init");
    const double most = init > 0 ? init : 1 / sqrt((double)shape.dim[1]);
    return pl_layers_weight(l, name, shape, pl_layers_uniform(l->b, most));
}

static void add_weights(const pl_layers *l, const pl_model_args *args, pl_elman *net)
{
    const int64_t h = net->hidden, d = net->in, k = net->classes;
    net->u = add_weight(l, args, "cell.input.weight", PL_SHAPE(h, d));
    net->w = add_weight(l, args, "cell.hidden.weight", PL_SHAPE(h, h));
    net->b = pl_layers_weight(l, "cell.bias", PL_SHAPE(h), "zeros");
    net->v = add_weight(l, args, "head.weight", PL_SHAPE(k, h));
    net->c = pl_layers_weight(l, "head.bias", PL_SHAPE(k), "zeros");
}

/* [n, t, k] -> those of each step, [n, k]. */
static void split_steps(pl_builder *b, pl_value *x, pl_elman *net)
{
    if (net->steps > 1)
        pl_join_split(b, x, net->steps, net->x);
    else
        net->x[0] = PL_ADD(b, &pl_op_reshape, "ntk->nk", x);
}

/* Rows of the picture as steps. */
static void add_picture(pl_builder *b, const pl_model_args *args, pl_elman *net)
{
    const int64_t size = pl_model_int(args, "size");
    pl_value *x = pl_add_input(b, "image", PL_F32, PL_SHAPE(net->rows, size, size, 1));
    x = PL_ADD_AS(b, &pl_op_reshape, "rows",
                  pl_builder_fmt(b, "n(ty)xc->nt(yxc); t=%lld", (long long)net->steps), x);
    split_steps(b, x, net);
}

static pl_value *run(pl_builder *b, const pl_elman *net, pl_value *a[], pl_value *s[])
{
    for (int64_t t = 0; t < net->steps; t++) {
        b->scope = pl_builder_fmt(b, "%lld.", (long long)t);
        a[t] = PL_ADD_AS(b, &pl_op_einsum, "input", "nd,hd->nh", net->x[t], net->u);
        if (t)
            a[t] = PL_ADD(b, &pl_op_add, NULL, a[t],
                          PL_ADD_AS(b, &pl_op_einsum, "hidden", "ng,hg->nh", s[t - 1], net->w));
        a[t] = PL_ADD(b, &pl_op_add, "nh,h->nh", a[t], net->b);
        s[t] = PL_ADD(b, &pl_op_tanh, NULL, a[t]);
    }
    b->scope = "";
    pl_value *o = PL_ADD_AS(b, &pl_op_einsum, "head", "nh,kh->nk", s[net->steps - 1], net->v);
    return PL_ADD(b, &pl_op_add, "nk,k->nk", o, net->c);
}

/* -- text -------------------------------------------------------------------------------------- */

static bool reads_text(const pl_model_args *args)
{
    return !strcmp(args->model->data, "text");
}

/* Tokens of a row as steps, each a 1 among zeros. */
static void add_tokens(pl_builder *b, const pl_model_args *args, pl_elman *net)
{
    const char *marks = pl_builder_fmt(b, "nt->ntv; v=%lld", (long long)net->in);
    split_steps(b, PL_ADD_AS(b, &pl_op_one_hot, "marks", marks, pl_model_tokens(b, args)), net);
}

/* What follows the last token of each row. */
static pl_value *add_next(pl_builder *b, const pl_elman *net)
{
    pl_value *next[PL_ADMM_STEPS];
    pl_value *x = pl_add_input(b, "targets", PL_I32, PL_SHAPE(net->rows, net->steps));
    if (net->steps == 1) return PL_ADD_AS(b, &pl_op_reshape, "next", "nt->n; t=1", x);
    pl_join_split(b, PL_ADD(b, &pl_op_reshape, "nt->nt(k); k=1", x), net->steps, next);
    return PL_ADD_AS(b, &pl_op_reshape, "next", "nk->n; k=1", next[net->steps - 1]);
}

/* What it tells after each token: [n, t, vocab]. */
static void tell_tokens(pl_builder *b, const pl_elman *net, pl_value *const s[])
{
    pl_value *y =
        PL_ADD_AS(b, &pl_op_einsum, "heads", "nth,kh->ntk", pl_join_rows(b, s, net->steps), net->v);
    y = PL_ADD(b, &pl_op_add, "ntk,k->ntk", y, net->c);
    if (y) pl_add_output(b, "logits", y);
}

static pl_value *finish_text(pl_builder *b, const pl_elman *net, pl_mode mode, pl_value *const s[],
                             pl_value *o)
{
    if (mode == PL_INFER) {
        tell_tokens(b, net, s);
        return NULL;
    }
    pl_value *next = add_next(b, net), *loss = pl_model_cross_entropy(b, o, next);
    if (loss) pl_add_output(b, "loss", loss);
    return next;
}

/* -- both -------------------------------------------------------------------------------------- */

static bool is_linear(const pl_model_args *args)
{
    return !strcmp(pl_model_word(args, "blocks"), "linear");
}

static bool check_pictures(pl_builder *b, const pl_model_args *args, int64_t steps)
{
    const long long size = (long long)pl_model_int(args, "size");
    if (size % steps)
        return pl_err_set(&b->err, PL_EUSAGE, "%s: size=%lld rows do not divide into steps=%lld",
                          args->spec, size, (long long)steps);
    return !pl_model_takes_all(args) || !pl_model_int(args, "mixup") ||
           pl_err_set(&b->err, PL_EUSAGE, "%s: admm has no mixup: pictures stay what they are",
                      args->spec);
}

static bool check(pl_builder *b, const pl_model_args *args, int64_t steps)
{
    if (!reads_text(args)) PL_TRY(check_pictures(b, args, steps));
    return steps <= PL_ADMM_STEPS ||
           pl_err_set(&b->err, PL_EUSAGE, "%s: %s=%lld are more than %d", args->spec,
                      reads_text(args) ? "seq" : "steps", (long long)steps, PL_ADMM_STEPS);
}

static pl_elman read_sizes(const pl_model_args *args)
{
    const bool text = reads_text(args);
    const int64_t size = text ? 0 : pl_model_int(args, "size"),
                  steps = pl_model_int(args, text ? "seq" : "steps");
    return (pl_elman){ .rows = pl_model_int(args, "batch"),
                       .steps = steps,
                       .in = text ? pl_model_int(args, "vocab") : size / steps * size,
                       .hidden = pl_model_int(args, "hidden"),
                       .classes = pl_model_int(args, text ? "vocab" : "classes") };
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const pl_layers l = pl_layers_new(b, args);
    const bool text = reads_text(args);
    pl_elman net = read_sizes(args);
    if (!check(b, args, net.steps)) return;
    pl_value *a[PL_ADMM_STEPS], *s[PL_ADMM_STEPS], *labels = NULL;
    (text ? add_tokens : add_picture)(b, args, &net);
    add_weights(&l, args, &net);
    pl_value *o = run(b, &net, a, s);
    if (text)
        labels = finish_text(b, &net, mode, s, o);
    else
        pl_model_finish_image(b, args, mode, o, NULL);
    if (mode != PL_TRAIN || !pl_model_takes_all(args) || b->err.code) return;
    if (!text) labels = pl_graph_find(b->graph, "label");
    if (is_linear(args))
        pl_admm_add_linear(b, args, &net, s, o, labels);
    else
        pl_admm_add(b, args, &net, a, s, o, labels);
}

#define ELMAN_INIT                                                                                 \
    {                                                                                              \
        "init", "0.0", 0, "weights begin within this of 0; 0: within 1 / sqrt(inputs)"             \
    }

static const pl_model_key keys[] = {
    { "steps", "28", 1, "that the picture's rows are read in; divides size" },
    { "size", "28", 1, "height and width of a picture" },
    { "hidden", "64", 1, "width of the state" },
    ELMAN_INIT,
    { "classes", "10", 2, "of the labels" },
    { "batch", "32", 1, "pictures per step, over all devices; of admm: all of them" },
    PL_ADMM_KEYS,
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

static const pl_model_key text_keys[] = {
    { "seq", "25", 1, "tokens of a row, read one after the other" },
    { "vocab", "256", 2, "tokens (bytes need 256)" },
    { "hidden", "128", 1, "width of the state" },
    ELMAN_INIT,
    { "batch", "32", 1, "rows per step, over all devices; of admm: spread over the text" },
    PL_ADMM_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_family pl_models_elman[] = {
    { "elman", "recurrent network over the rows of a picture", NULL, "images", keys, build },
    { "elman-text", "the same over the tokens of a text, which tells the next one", NULL, "text",
      text_keys, build },
    { 0 },
};
