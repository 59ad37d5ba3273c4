/* Generative adversarial networks. Read pl_gan_build(): pictures are made (make_pictures), judged
 * beside real ones (judge), and what the judge says becomes two losses (add_losses). */
#include "models/gan.h"

#include "ops/list.h"

#include <string.h>

static const char GENERATOR[] = "generator.", DISCRIMINATOR[] = "discriminator.";

enum { Z_STREAM = 1, LABEL_STREAM };

/* -- layers ------------------------------------------------------------------------------------ */

/* In the type that is computed in, as all numbers that no leaf is. */
static pl_value *number(pl_builder *b, double x)
{
    const char *spec = pl_builder_fmt(b, "->; value=%.17g to=%s", x, pl_type_name(b->compute));
    return pl_add_value(b, &pl_op_fill, NULL, spec, 0, NULL);
}

static pl_value *cast(pl_builder *b, pl_type to, pl_value *x)
{
    if (!x || x->type == to) return x;
    return PL_ADD(b, &pl_op_cast, pl_builder_fmt(b, "; to=%s", pl_type_name(to)), x);
}

/* x / |x|, as a number that no gradient goes through. */
static pl_value *direction(pl_builder *b, const char *dims, pl_value *x)
{
    pl_value *square = PL_ADD(b, &pl_op_square_sum, pl_builder_fmt(b, "%s->", dims), x);
    square = PL_ADD(b, &pl_op_add, NULL, square, number(b, 1e-24));
    x = PL_ADD(b, &pl_op_div, pl_builder_fmt(b, "%s,->%s", dims, dims), x,
               PL_ADD(b, &pl_op_sqrt, NULL, square));
    return PL_ADD(b, &pl_op_detach, NULL, x);
}

/* The direction that the largest singular vector of a weight is near, a state. */
static pl_value *find_direction(pl_gan *m, const char *name, int64_t rows)
{
    pl_builder *b = m->l.b;
    const char *as = pl_builder_fmt(b, "%s.u", name);
    pl_value *there = pl_graph_find(b->graph, pl_builder_fmt(b, "%s%s", b->scope, as));
    return there ? there : pl_add_state(b, as, PL_F32, PL_SHAPE(rows), "normal std=1", PL_BUFFER);
}

/* w / sigma, sigma = |w v| with v the direction of w^T u: a step of the power method, which leaves
 * the direction of w v in u. The first dimension of w is its rows; `dims` are its letters, of which
 * the first is o. */
static pl_value *add_division(pl_gan *m, const char *name, const char *as, const char *dims,
                              pl_value *w)
{
    pl_builder *b = m->l.b;
    const char *rest = dims + 1;
    pl_value *u = find_direction(m, name, w->shape.dim[0]);
    const char *back = pl_builder_fmt(b, "%s,o->%s", dims, rest),
               *forth = pl_builder_fmt(b, "%s,%s->o", dims, rest);
    pl_value *v = direction(b, rest, PL_ADD(b, &pl_op_einsum, back, w, u));
    pl_value *wv = PL_ADD(b, &pl_op_einsum, forth, w, v);
    if (u && m->mode == PL_TRAIN && !u->next) u->next = direction(b, "o", wv);
    pl_value *square = PL_ADD(b, &pl_op_reduce_sum, "o->", PL_ADD(b, &pl_op_mul, NULL, wv, wv));
    return PL_ADD_AS(b, &pl_op_div, as, pl_builder_fmt(b, "%s,->%s", dims, dims), w,
                     PL_ADD(b, &pl_op_sqrt, NULL, square));
}

/* A weight by its spectral norm, which is found in f32, once for all who share it but those that
 * are apart. */
static pl_value *divide(pl_gan *m, const char *name, const char *dims, pl_value *w)
{
    pl_builder *b = m->l.b;
    if (!w || !m->spectral) return w;
    const char *outer = b->scope,
               *as = pl_builder_fmt(b, "%s.normal%s", name, m->own ? m->own : "");
    if (m->l.shared) b->scope = m->l.shared;
    pl_value *y = pl_graph_find(b->graph, pl_builder_fmt(b, "%s%s", b->scope, as));
    const pl_type type = b->compute;
    const char *wide = type == PL_F32 ? as : pl_builder_fmt(b, "%s.f32", as);
    b->compute = PL_F32;
    if (!y) y = add_division(m, name, wide, dims, w);
    b->compute = type;
    if (y && y->type != type)
        y = PL_ADD_AS(b, &pl_op_cast, as, pl_builder_fmt(b, "; to=%s", pl_type_name(type)), y);
    b->scope = outer;
    return y;
}

static pl_value *weight(pl_gan *m, const char *name, const char *dims, pl_shape shape)
{
    const char *as = pl_builder_fmt(m->l.b, "%s.weight", name);
    return divide(m, as, dims, pl_layers_weight(&m->l, as, shape, NULL));
}

pl_value *pl_gan_conv(pl_gan *m, const char *name, pl_value *x, int64_t out, int64_t kernel,
                      int64_t stride, int64_t pad, bool biased)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    pl_value *w = weight(m, name, "ocrs", PL_SHAPE(out, x->shape.dim[3], kernel, kernel));
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld pad=%lld",
                                      (long long)stride, (long long)pad);
    x = PL_ADD_AS(b, &pl_op_conv2d, name, spec, x, w);
    return biased ? pl_layers_bias(&m->l, name, "nyxo,o->nyxo", PL_SHAPE(out), NULL, x) : x;
}

pl_value *pl_gan_unfold(pl_gan *m, const char *name, pl_value *x, int64_t out, int64_t kernel,
                        int64_t stride, int64_t pad)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    pl_value *w = weight(m, name, "ocrs", PL_SHAPE(x->shape.dim[3], out, kernel, kernel));
    const long long to = (long long)(stride * (x->shape.dim[1] - 1) + kernel - 2 * pad);
    const char *spec =
        pl_builder_fmt(b, "nyxo,ocrs->n[y+r][x+s]c; stride=%lld pad=%lld extent=%lld,%lld",
                       (long long)stride, (long long)pad, to, to);
    return PL_ADD_AS(b, &pl_op_conv2d_grad_data, name, spec, x, w);
}

pl_value *pl_gan_linear(pl_gan *m, const char *name, pl_value *x, int64_t out, bool biased)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    pl_value *w = weight(m, name, "oi", PL_SHAPE(out, x->shape.dim[1]));
    x = PL_ADD_AS(b, &pl_op_einsum, name, "ni,oi->no", x, w);
    return biased ? pl_layers_bias(&m->l, name, "no,o->no", PL_SHAPE(out), NULL, x) : x;
}

pl_value *pl_gan_embed(pl_gan *m, const char *name, pl_value *label, int64_t out)
{
    pl_value *w = weight(m, name, "oh", PL_SHAPE(m->classes, out));
    return PL_ADD_AS(m->l.b, &pl_op_embedding, name, "vh,n->nh", w, label);
}

static pl_value *running(pl_gan *m, const char *name, const char *part, int64_t c)
{
    const char *init = strcmp(part, "running_var") ? "zeros" : "ones";
    return pl_add_state(m->l.b, pl_builder_fmt(m->l.b, "%s.%s", name, part), PL_F32, PL_SHAPE(c),
                        init, PL_BUFFER);
}

static pl_value *norm(pl_gan *m, const char *name, pl_value *x, pl_value *scale, pl_value *bias,
                      bool relu)
{
    pl_builder *b = m->l.b;
    const int64_t c = x->shape.dim[3], count = pl_shape_count(&x->shape) / c;
    const char *spec = pl_builder_fmt(b, "; eps=%.17g relu=%d", m->l.eps, relu);
    pl_value *mean = m->keeps ? running(m, name, "running_mean", c) : NULL,
             *var = m->keeps ? running(m, name, "running_var", c) : NULL;
    if (m->keeps && m->mode != PL_TRAIN)
        return PL_ADD_AS(b, &pl_op_batch_norm_eval, name, spec, x, mean, var, scale, bias);
    const pl_node *s = pl_add_node(b, &pl_op_batch_norm_stats, NULL, NULL, 1, &x);
    if (!s) return NULL;
    if (m->keeps) {
        const char *rate = pl_builder_fmt(b, "; count=%lld", (long long)count);
        const pl_node *r = pl_add_node(b, &pl_op_batch_norm_running, NULL, rate, 4,
                                       (pl_value *const[]){ mean, var, s->out[0], s->out[1] });
        if (!r) return NULL;
        mean->next = r->out[0], var->next = r->out[1];
    }
    return PL_ADD_AS(b, &pl_op_batch_norm, name, spec, x, s->out[0], s->out[1], scale, bias);
}

pl_value *pl_gan_norm(pl_gan *m, const char *name, pl_value *x, bool relu)
{
    if (!x) return NULL;
    const pl_shape c = PL_SHAPE(x->shape.dim[3]);
    pl_value *scale = pl_layers_weight(&m->l, pl_builder_fmt(m->l.b, "%s.weight", name), c, "ones");
    pl_value *bias = pl_layers_weight(&m->l, pl_builder_fmt(m->l.b, "%s.bias", name), c, "zeros");
    return norm(m, name, x, scale, bias, relu);
}

static pl_value *fill(pl_builder *b, double x, int64_t c)
{
    const char *spec = pl_builder_fmt(b, "->c; value=%.17g c=%lld to=%s", x, (long long)c,
                                      pl_type_name(b->compute));
    return pl_add_value(b, &pl_op_fill, NULL, spec, 0, NULL);
}

pl_value *pl_gan_norm_by(pl_gan *m, const char *name, pl_value *x, pl_value *y)
{
    pl_builder *b = m->l.b;
    if (!x || !y) return NULL;
    const int64_t c = x->shape.dim[3];
    x = norm(m, name, x, fill(b, 1, c), fill(b, 0, c), false);
    pl_value *scale = pl_gan_linear(m, pl_builder_fmt(b, "%s.scale", name), y, c, false),
             *offset = pl_gan_linear(m, pl_builder_fmt(b, "%s.offset", name), y, c, false);
    scale = PL_ADD(b, &pl_op_add, "nc,->nc", scale, number(b, 1));
    x = PL_ADD(b, &pl_op_mul, "nyxc,nc->nyxc", x, scale);
    return pl_gan_relu(m, PL_ADD(b, &pl_op_add, "nyxc,nc->nyxc", x, offset));
}

pl_value *pl_gan_relu(pl_gan *m, pl_value *x)
{
    return x ? PL_ADD(m->l.b, &pl_op_relu, NULL, x) : NULL;
}

pl_value *pl_gan_double(pl_gan *m, pl_value *x)
{
    x = PL_ADD(m->l.b, &pl_op_broadcast, "nyxc->nyaxbc; a=2 b=2", x);
    return PL_ADD(m->l.b, &pl_op_reshape, "nyaxbc->n(ya)(xb)c", x);
}

pl_value *pl_gan_halve(pl_gan *m, pl_value *x)
{
    return PL_ADD(m->l.b, &pl_op_avg_pool, "n[y+r][x+s]c->nyxc; r=2 s=2 stride=2", x);
}

/* Positions in a row: [n, yx, c]. */
static pl_value *flat(pl_gan *m, pl_value *x)
{
    return PL_ADD(m->l.b, &pl_op_reshape, "nyxc->n(yx)c", x);
}

static pl_value *fewer(pl_gan *m, pl_value *x)
{
    return PL_ADD(m->l.b, &pl_op_max_pool, "n[y+r][x+s]c->nyxc; r=2 s=2 stride=2", x);
}

pl_value *pl_gan_attend(pl_gan *m, const char *name, pl_value *x)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    const int64_t c = x->shape.dim[3];
    const long long side = (long long)x->shape.dim[1];
    const char *outer = b->scope, *of = m->l.shared;
    b->scope = pl_builder_fmt(b, "%s%s.", outer, name);
    if (of) m->l.shared = pl_builder_fmt(b, "%s%s.", of, name);
    pl_value *q = flat(m, pl_gan_conv(m, "theta", x, c / 8, 1, 1, 0, false)),
             *k = flat(m, fewer(m, pl_gan_conv(m, "phi", x, c / 8, 1, 1, 0, false))),
             *v = flat(m, fewer(m, pl_gan_conv(m, "g", x, c / 2, 1, 1, 0, false)));
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, "scores", "npc,nkc->npk", q, k);
    p = PL_ADD_AS(b, &pl_op_softmax, "shares", NULL, p);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "mix", "npk,nkc->npc", p, v);
    y = PL_ADD(b, &pl_op_reshape, pl_builder_fmt(b, "n(yx)c->nyxc; y=%lld", side), y);
    y = pl_gan_conv(m, "o", y, c, 1, 1, 0, false);
    pl_value *gamma = pl_layers_weight(&m->l, "gamma", PL_SCALAR, "zeros");
    y = PL_ADD(b, &pl_op_add, NULL, x, PL_ADD(b, &pl_op_mul, "nyxc,->nyxc", y, gamma));
    b->scope = outer;
    m->l.shared = of;
    return y;
}

/* -- both networks ----------------------------------------------------------------------------- */

/* Pictures, and their labels (NULL without classes). */
typedef struct pictures {
    pl_value *image, *label;
} pictures;

pl_gan pl_gan_new(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    return (pl_gan){ .l = pl_layers_new(b, args),
                     .args = args,
                     .mode = mode,
                     .batch = pl_model_int(args, "batch"),
                     .size = pl_model_int(args, "size"),
                     .channels = strcmp(pl_model_word(args, "channels"), "1") ? 3 : 1,
                     .classes = pl_model_has(args, "classes") ? pl_model_int(args, "classes") : 0 };
}

static pl_value *draw(pl_gan *m, pl_value *seed, int64_t z)
{
    const char *spec =
        pl_builder_fmt(m->l.b, "->nz; n=%lld z=%lld stream=%d to=%s", (long long)m->batch,
                       (long long)z, Z_STREAM, pl_type_name(m->l.b->compute));
    return PL_ADD_AS(m->l.b, &pl_op_draw_normal, "z", spec, seed);
}

static pl_value *draw_labels(pl_gan *m, pl_value *seed)
{
    const char *spec = pl_builder_fmt(m->l.b, "->n; n=%lld classes=%lld power=0 stream=%d",
                                      (long long)m->batch, (long long)m->classes, LABEL_STREAM);
    return m->classes ? PL_ADD_AS(m->l.b, &pl_op_draw_ids, "made_label", spec, seed) : NULL;
}

static pictures make_pictures(pl_gan *m, const pl_gan_nets *nets)
{
    pl_builder *b = m->l.b;
    pl_value *seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    pl_value *z = draw(m, seed, nets->z), *label = draw_labels(m, seed);
    b->scope = GENERATOR;
    m->keeps = true;
    pictures made = { nets->generate(m, z, label), label };
    m->keeps = false;
    b->scope = "";
    return made;
}

static pl_value *judge(pl_gan *m, const pl_gan_nets *nets, const char *what, pictures x)
{
    pl_builder *b = m->l.b;
    if (!x.image) return NULL;
    b->scope = pl_builder_fmt(b, "%s%s.", DISCRIMINATOR, what);
    m->l.shared = DISCRIMINATOR;
    pl_value *y = nets->judge(m, x.image, x.label);
    m->l.shared = NULL;
    y = cast(b, PL_F32, y); /* as losses are, whatever the networks compute in */
    b->scope = "";
    return y;
}

/* Pictures as they were `age` steps ago. */
static pl_value *delay(pl_gan *m, const char *name, int64_t age, pl_value *x)
{
    const char *init = x && pl_type_is_float(x->type) ? "uniform a=1" : "zeros";
    return pl_model_past(m->l.b, pl_builder_fmt(m->l.b, "buffer.%s", name), init, PL_ROWS, age, x);
}

/* The loss of pictures that should be judged above 0, or below. */
static pl_value *wrong(pl_gan *m, const char *name, pl_value *y, bool above)
{
    pl_builder *b = m->l.b;
    if (!y) return NULL;
    if (above) y = PL_ADD(b, &pl_op_neg, NULL, y);
    if (m->hinge)
        y = PL_ADD(b, &pl_op_relu, NULL, PL_ADD(b, &pl_op_add, "n,->n", y, number(b, 1)));
    else
        y = PL_ADD(b, &pl_op_softplus, NULL, y);
    return pl_model_mean(b, name, y);
}

static void add_losses(pl_gan *m, pl_value *real, pl_value *old, pl_value *made)
{
    pl_builder *b = m->l.b;
    b->compute = PL_F32;
    pl_value *d = PL_ADD(b, &pl_op_add, NULL, wrong(m, "loss_real", real, true),
                         wrong(m, "loss_made", old, false));
    pl_value *g = m->hinge ? pl_model_mean(b, "unconvincing", PL_ADD(b, &pl_op_neg, NULL, made))
                           : wrong(m, "unconvincing", made, true);
    pl_value *sum = PL_ADD(b, &pl_op_add, NULL, d, g);
    if (!sum) return;
    pl_add_output(b, "loss.discriminator", d);
    pl_add_output(b, "loss.generator", g);
    pl_add_output(b, "loss", sum);
}

static bool check(pl_gan *m, int64_t buffer)
{
    pl_err *err = &m->l.b->err;
    return !buffer || m->l.b->graph->micro == 1 ||
           pl_err_set(err, PL_EUSAGE,
                      "%s: a buffer has the pictures of whole steps: with micro-batches write "
                      "buffer=0",
                      m->args->spec);
}

void pl_gan_build(pl_gan *m, const pl_gan_nets *nets)
{
    pl_builder *b = m->l.b;
    const int64_t buffer = m->mode == PL_TRAIN ? pl_model_int(m->args, "buffer") : 0;
    if (b->err.code || !check(m, buffer)) return;
    pictures made = make_pictures(m, nets), old = made, real = { 0 };
    if (m->mode == PL_INFER) {
        made.image = cast(b, PL_F32, made.image);
        if (made.image) pl_add_output(b, "image", made.image);
        return;
    }
    real.image =
        pl_add_input(b, "image", PL_F32, PL_SHAPE(m->batch, m->size, m->size, m->channels));
    if (m->classes) real.label = pl_add_input(b, "label", PL_I32, PL_SHAPE(m->batch));
    if (buffer) {
        old.image = delay(m, "image", buffer, made.image);
        old.label = delay(m, "label", buffer, made.label);
    }
    pl_value *of_real = judge(m, nets, "real", real);
    if (buffer || m->mode != PL_TRAIN) m->own = ".made";
    pl_value *of_made = judge(m, nets, "made", made);
    m->own = NULL;
    add_losses(m, of_real, buffer ? judge(m, nets, "old", old) : of_made, of_made);
}
