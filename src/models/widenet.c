/* WideNet: a vision transformer that is wider instead of deeper. All blocks share one attention and
 * one layer of experts, router included; what tells them apart are their norms:
 * x += attention(norm1_i(x)), x += experts(norm2_i(x)). ViT-MoE is the same with weights of each
 * block's own, of which some are routed.
 *
 * The mean over the tokens is what a class is told by; the token before the patches, which is zero,
 * and the position of each are as in ViT. A token goes to k experts, weighed by their probabilities
 * as they are; what finds no slot passes by on the residual.
 * Source: Xue et al., "Go wider instead of deeper", AAAI 2022, and its public code: the zero token,
 * noise of the router, slots by tokens of all images of a device, biases and activations. */
#include "models/act.h"
#include "models/layers.h"
#include "models/list.h"
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

typedef struct widenet {
    pl_layers l;
    const char *shared[2]; /* scope of what blocks share: weights, norms; NULL: nothing     */
    pl_routed routed;
    int64_t hidden, ffn, heads, every;
    int64_t groups; /* of images that share slots; 0: there are none              */
    double noise, balance;
    bool outer;     /* an activation behind an expert's second layer too             */
    pl_value *loss; /* of balance, of all blocks so far; NULL: none                  */
} widenet;

static const char *glorot(widenet *m, int64_t in, int64_t out)
{
    return pl_layers_uniform(m->l.b, sqrt(6 / (double)(in + out)));
}

static pl_value *dense(widenet *m, const char *name, const char *spec, pl_shape shape, pl_value *x)
{
    const int64_t out = shape.dim[0], in = shape.dim[1];
    x = pl_layers_linear(&m->l, name, spec, shape, glorot(m, in, out), x);
    return pl_layers_bias(&m->l, name, "...m,m->...m", PL_SHAPE(out), "normal std=1e-6", x);
}

/* Tokens [batch, 1 + patches, hidden] of image [batch, size, size, 3]. */
static pl_value *embed(widenet *m, pl_value *image, int64_t patch)
{
    if (!image) return NULL;
    pl_builder *b = m->l.b;
    const int64_t h = m->hidden, batch = image->shape.dim[0], side = image->shape.dim[1] / patch;
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld", (long long)patch);
    pl_value *w = pl_layers_weight(&m->l, "embedding.weight", PL_SHAPE(h, 3, patch, patch),
                                   pl_layers_normal(b, sqrt(1 / (double)(3 * patch * patch))));
    pl_value *x = PL_ADD_AS(b, &pl_op_conv2d, "embedding", spec, image, w);
    x = pl_layers_bias(&m->l, "embedding", "nyxo,o->nyxo", PL_SHAPE(h), NULL, x);
    x = PL_ADD_AS(b, &pl_op_reshape, "patches", "nyxm->n(yx)m", x);
    if (!x) return NULL;
    const char *none = pl_builder_fmt(b, "->bm; value=0 b=%lld m=%lld to=%s", (long long)batch,
                                      (long long)h, pl_type_name(x->type));
    pl_value *token = pl_add_value(b, &pl_op_fill, NULL, none, 0, NULL);
    x = PL_ADD_AS(b, &pl_op_concat, "tokens", "bm,bpm->bsm", token, x);
    pl_value *places = pl_layers_weight(&m->l, "pos_embedding", PL_SHAPE(1 + side * side, h), NULL);
    x = PL_ADD_AS(b, &pl_op_add, "encoder.pos", "bsm,sm->bsm", x, places);
    return pl_layers_drop(&m->l, x);
}

static pl_value *attention(widenet *m, pl_value *x)
{
    static const char *const names[] = { "attention.query", "attention.key", "attention.value" };
    pl_builder *b = m->l.b;
    const int64_t h = m->hidden;
    const char *heads = pl_builder_fmt(b, "h=%lld", (long long)m->heads);
    const char *scale = pl_builder_fmt(b, "scale=%.17g", 1 / sqrt((double)(h / m->heads)));
    pl_value *qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = pl_layers_linear(&m->l, names[i], pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", heads),
                                  PL_SHAPE(h, h), glorot(m, h, h), x);
        qkv[i] = pl_layers_bias(&m->l, names[i], pl_builder_fmt(b, "bshd,(hd)->bshd; %s", heads),
                                PL_SHAPE(h), NULL, qkv[i]);
    }
    x = pl_layers_attend(&m->l, "attention", qkv, NULL, scale, false);
    x = dense(m, "attention.out", pl_builder_fmt(b, "bshd,m(hd)->bsm; %s", heads), PL_SHAPE(h, h),
              x);
    return pl_layers_drop(&m->l, x);
}

static pl_value *feed_forward(widenet *m, pl_value *x)
{
    x = dense(m, "mlp.up", "bsm,fm->bsf", PL_SHAPE(m->ffn, m->hidden), x);
    x = pl_layers_drop(&m->l, pl_act_add(m->l.b, "gelu_tanh", "mlp.act", x));
    return pl_layers_drop(&m->l,
                          dense(m, "mlp.down", "bsf,mf->bsm", PL_SHAPE(m->hidden, m->ffn), x));
}

/* A layer of every expert. */
static pl_value *expert(widenet *m, const char *name, int64_t in, int64_t out, pl_value *x)
{
    pl_builder *b = m->l.b;
    const int64_t n = m->routed.experts;
    pl_value *w = pl_layers_weight(&m->l, pl_builder_fmt(b, "%s.weight", name),
                                   PL_SHAPE(n, in, out), glorot(m, in, out));
    pl_value *c = pl_layers_weight(&m->l, pl_builder_fmt(b, "%s.bias", name), PL_SHAPE(n, out),
                                   "normal std=1e-6");
    return pl_routed_bias(&m->routed, c, pl_routed_linear(&m->routed, name, "eio", w, x));
}

static pl_value *both_layers(widenet *m, pl_value *x)
{
    pl_builder *b = m->l.b;
    x = expert(m, "experts.up", m->hidden, m->ffn, x);
    x = pl_layers_drop(&m->l, pl_act_add(b, "gelu_tanh", "experts.act", x));
    x = expert(m, "experts.down", m->ffn, m->hidden, x);
    if (m->outer) x = pl_act_add(b, "gelu_tanh", "experts.outer", x);
    return pl_layers_drop(&m->l, x);
}

static pl_value *add_noise(widenet *m, pl_value *logits)
{
    if (!logits || !m->l.seed || m->noise <= 0) return logits;
    pl_builder *b = m->l.b;
    const pl_shape *s = &logits->shape;
    const char *spec = pl_builder_fmt(b, "->gte; g=%lld t=%lld e=%lld std=%.17g stream=%d to=%s",
                                      (long long)s->dim[0], (long long)s->dim[1],
                                      (long long)s->dim[2], m->noise / (double)m->routed.experts,
                                      ++m->l.n_dropouts, pl_type_name(logits->type));
    return PL_ADD_AS(b, &pl_op_add, "router.noisy", NULL, logits,
                     PL_ADD_AS(b, &pl_op_draw_normal, "router.noise", spec, m->l.seed));
}

static void add_balance(widenet *m)
{
    pl_builder *b = m->l.b;
    pl_value *more = m->balance > 0 ? pl_routed_balance(&m->routed) : NULL;
    if (!more) return;
    more = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", m->balance), more);
    m->loss = m->loss ? PL_ADD(b, &pl_op_add, NULL, m->loss, more) : more;
}

static pl_value *experts(widenet *m, pl_value *x)
{
    pl_builder *b = m->l.b;
    const int64_t n = m->routed.experts, h = m->hidden;
    if (!x) return NULL;
    const bool together = m->routed.slots && m->groups != x->shape.dim[0];
    const char *by = pl_builder_fmt(b, "g=%lld", (long long)m->groups);
    pl_value *y = x;
    if (together) y = PL_ADD(b, &pl_op_reshape, pl_builder_fmt(b, "(gr)sm->g(rs)m; %s", by), y);
    pl_value *logits = pl_layers_linear(&m->l, "router", "gtm,em->gte", PL_SHAPE(n, h), NULL, y);
    logits = add_noise(m, logits);
    y = pl_routed_send(&m->routed, logits, NULL, y);
    y = pl_routed_return(&m->routed, both_layers(m, y));
    add_balance(m);
    if (!together) return y;
    const char *back = pl_builder_fmt(b, "g(rs)m->(gr)sm; %s r=%lld", by,
                                      (long long)(x->shape.dim[0] / m->groups));
    return PL_ADD(b, &pl_op_reshape, back, y);
}

static pl_value *block(widenet *m, int64_t i, pl_value *x)
{
    pl_builder *b = m->l.b;
    b->scope = pl_builder_fmt(b, "encoder.%lld.", (long long)i);
    m->l.shared = m->shared[1];
    pl_value *y = pl_layers_norm(&m->l, "norm1", x);
    m->l.shared = m->shared[0];
    x = PL_ADD(b, &pl_op_add, NULL, x, attention(m, y));
    m->l.shared = m->shared[1];
    y = pl_layers_norm(&m->l, "norm2", x);
    m->l.shared = m->shared[0];
    const bool routed = i % m->every == m->every - 1;
    x = PL_ADD(b, &pl_op_add, NULL, x, routed ? experts(m, y) : feed_forward(m, y));
    m->l.shared = NULL;
    b->scope = "";
    return x;
}

static pl_value *head(widenet *m, pl_value *x, int64_t classes)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    x = PL_ADD_AS(b, &pl_op_reduce_sum, "pool.sum", "bsm->bm", x);
    x = PL_ADD_AS(b, &pl_op_scale, "pool",
                  pl_builder_fmt(b, "; value=%.17g", 1 / (double)x->maker->in[0]->shape.dim[1]), x);
    x = dense(m, "pre_logits", "bm,om->bo", PL_SHAPE(m->hidden, m->hidden), x);
    x = PL_ADD(b, &pl_op_tanh, NULL, x);
    x = pl_layers_linear(&m->l, "head", "bm,om->bo", PL_SHAPE(classes, m->hidden), NULL, x);
    return pl_layers_bias(&m->l, "head", "bo,o->bo", PL_SHAPE(classes), NULL, x);
}

static void check_sizes(const widenet *m, const pl_model_args *args)
{
    pl_err *err = &m->l.b->err;
    const long long size = (long long)pl_model_int(args, "size"),
                    patch = (long long)pl_model_int(args, "patch"),
                    batch = (long long)pl_model_int(args, "batch"),
                    group = (long long)pl_model_int(args, "group");
    pl_layers_check_sizes(m->l.b, args);
    if (size % patch)
        pl_err_set(err, PL_EINPUT, "%s: size=%lld does not divide into patches of patch=%lld",
                   args->spec, size, patch);
    if (group && batch % group)
        pl_err_set(err, PL_EINPUT,
                   "%s: %lld images do not divide into groups of group=%lld that share slots",
                   args->spec, batch, group);
    if (m->shared[0] && m->every > 1)
        pl_err_set(err, PL_EINPUT, "%s: blocks that share their weights are all routed: every=1",
                   args->spec);
}

/* Slots are those of the published rule, floor(capacity tokens k / experts); its code numbers them
 * from 1 and keeps those below: one fewer. */
static void set_slots(widenet *m, const pl_model_args *args)
{
    const int64_t batch = pl_model_int(args, "batch"), group = pl_model_int(args, "group"),
                  side = pl_model_int(args, "size") / pl_model_int(args, "patch"),
                  images = group ? group : batch, tokens = images * (1 + side * side);
    const double capacity = pl_model_real(args, "capacity");
    pl_routed *r = &m->routed;
    *r = pl_routed_new(m->l.b, args->spec, pl_model_int(args, "experts"), pl_model_int(args, "k"),
                       tokens, capacity);
    m->groups = batch / images;
    if (capacity <= 0) return;
    double slots = floor(capacity * (double)tokens * (double)r->k / (double)r->experts);
    if (pl_model_int(args, "quirk")) slots--;
    r->slots = slots < 1 ? 1 : slots > (double)tokens ? tokens : (int64_t)slots;
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const char *share = pl_model_word(args, "share");
    widenet m = { .l = pl_layers_new(b, args),
                  .hidden = pl_model_int(args, "hidden"),
                  .ffn = pl_model_int(args, "ffn"),
                  .heads = pl_model_int(args, "heads"),
                  .every = pl_model_int(args, "every"),
                  .noise = pl_model_real(args, "noise"),
                  .balance = pl_model_real(args, "balance"),
                  .outer = pl_model_int(args, "outer") };
    m.shared[0] = strcmp(share, "nothing") ? "encoder." : NULL;
    m.shared[1] = strcmp(share, "norms") ? NULL : "encoder.";
    check_sizes(&m, args);
    if (b->err.code) return;
    set_slots(&m, args);
    pl_value *x = pl_model_image(b, args);
    pl_layers_add_seed(&m.l, args, mode);
    if (mode == PL_TRAIN && m.noise > 0 && !m.l.seed)
        m.l.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    x = embed(&m, x, pl_model_int(args, "patch"));
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) x = block(&m, i, x);
    x = head(&m, pl_layers_norm(&m.l, "encoder.norm", x), pl_model_int(args, "classes"));
    pl_model_finish_image(b, args, mode, x, m.loss);
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "ffn", "4096", 1, "width inside an expert" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "experts", "4", 1, "of a layer" },
    { "k", "2", 1, "experts of a token" },
    { "capacity", "1.2", 0,
      "slots of the experts by choices of the tokens; 0: no slots, none is left out" },
    { "group", "1", 0, "images whose tokens share slots; divides batch; 0: all of a batch",
      .needs = "capacity!=0" },
    { "quirk", "0", 0, "1: one slot fewer, as the published code has it", .most = 1,
      .needs = "capacity!=0" },
    { "share", "blocks", 0, "what blocks share: attention and experts, norms too, or nothing",
      "blocks norms nothing" },
    { "every", "1", 1, "each so many-th block is routed, the first ones are not" },
    { "noise", "1.0", 0, "deviation of what is added to the router's logits, times 1/experts" },
    { "balance", "0.01", 0, "weight of the loss that balances the experts" },
    { "outer", "1", 0, "1: GELU behind an expert's second layer too", .most = 1 },
    { "patch", "16", 1, "height and width of a patch; divides size" },
    { "eps", "0.000001", 0, "of the norms" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, experts and both residuals" },
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

#define WIDENET(name, about, sizes)                                                                \
    {                                                                                              \
        name, about, sizes, "images", keys, build                                                  \
    }

const pl_family pl_models_widenet[] = {
    WIDENET("widenet-b", "WideNet-B, a vision transformer of shared experts, 29.7M", NULL),
    WIDENET("widenet-l", "WideNet-L, 40.9M", "layers=24,hidden=1024,heads=16"),
    WIDENET("widenet-h", "WideNet-H, 63.3M", "layers=32,hidden=1280,ffn=5120,heads=16"),
    WIDENET("vit-moe-b", "ViT-MoE-B, experts of each block's own in every fourth",
            "ffn=3072,share=nothing,every=4,outer=0"),
    { 0 },
};
