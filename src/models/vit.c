/* ViT, a vision transformer: square patches of the image are the tokens of an encoder of L blocks,
 * x += attention(norm(x)), x += mlp(norm(x)); a learned token before them gathers what the class is
 * told by. Positions are learned.
 * Source: Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021; sizes, names of the
 * weights, which are [out, in], and their initial values as in torchvision, but for the last
 * layer's: its zeros would keep every other gradient of the first step at 0. */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

typedef struct vit {
    pl_builder *b;
    int64_t hidden, ffn, heads;
    double dropout;
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} vit;

static pl_value *weight(vit *v, const char *name, pl_shape shape, const char *kind, double size)
{
    return pl_add_state(v->b, name, PL_F32, shape, pl_builder_fmt(v->b, "%s=%.17g", kind, size),
                        true);
}

static pl_value *vector(vit *v, const char *name, int64_t n, const char *init)
{
    return pl_add_state(v->b, name, PL_F32, PL_SHAPE(n), init, true);
}

static pl_value *drop(vit *v, pl_value *x)
{
    if (!v->seed) return x;
    const char *spec = pl_builder_fmt(v->b, "; p=%.17g stream=%d", v->dropout, ++v->n_dropouts);
    return PL_ADD(v->b, &pl_op_dropout, spec, x, v->seed);
}

static pl_value *norm(vit *v, const char *name, pl_value *x)
{
    pl_value *scale = vector(v, pl_builder_fmt(v->b, "%s.weight", name), v->hidden, "ones");
    pl_value *bias = vector(v, pl_builder_fmt(v->b, "%s.bias", name), v->hidden, "zeros");
    pl_value *sum = PL_ADD(v->b, &pl_op_layer_norm_sum, NULL, x);
    pl_value *deviation = PL_ADD(v->b, &pl_op_layer_norm_deviation, NULL, x, sum);
    return PL_ADD_AS(v->b, &pl_op_layer_norm, name, "; eps=1e-6", x, sum, deviation, scale, bias);
}

/* Glorot & Bengio, "Understanding the difficulty of training deep feedforward networks", 2010. */
static double glorot(int64_t in, int64_t out)
{
    return sqrt(6 / (double)(in + out));
}

static pl_value *attention(vit *v, pl_value *x)
{
    pl_builder *b = v->b;
    int64_t m = v->hidden;
    const char *sizes = pl_builder_fmt(b, "v=3 h=%lld", (long long)v->heads);
    pl_value *w = weight(v, "self_attention.in_proj_weight", PL_SHAPE(3 * m, m), "uniform a",
                         glorot(m, 3 * m));
    pl_value *c = vector(v, "self_attention.in_proj_bias", 3 * m, "zeros");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "self_attention.qkv",
                            pl_builder_fmt(b, "bsm,(vhd)m->bs(vhd); %s", sizes), x, w);
    y = PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bs(vhd),(vhd)->bs(vhd); %s", sizes), y, c);
    pl_node *qkv = pl_add_node(b, &pl_op_split, "self_attention.split",
                               pl_builder_fmt(b, "bs(vhd)->bshd,bshd,bshd; %s", sizes), 1,
                               (pl_value *const[]){ y });
    if (!qkv) return NULL;
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, "self_attention.scores", "bqhd,bkhd->bhqk",
                            qkv->out[0], qkv->out[1]);
    const char *scale = pl_builder_fmt(b, "; scale=%.17g", 1 / sqrt((double)(m / v->heads)));
    p = PL_ADD_AS(b, &pl_op_softmax, "self_attention.softmax", scale, p);
    y = PL_ADD_AS(b, &pl_op_einsum, "self_attention.mix", "bhqk,bkhd->bqhd", p, qkv->out[2]);
    w = weight(v, "self_attention.out_proj.weight", PL_SHAPE(m, m), "uniform a",
               1 / sqrt((double)m));
    c = vector(v, "self_attention.out_proj.bias", m, "zeros");
    y = PL_ADD_AS(b, &pl_op_einsum, "self_attention.out_proj",
                  pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)v->heads), y, w);
    return drop(v, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

static pl_value *mlp(vit *v, pl_value *x)
{
    pl_builder *b = v->b;
    double a = glorot(v->hidden, v->ffn);
    pl_value *w = weight(v, "mlp.0.weight", PL_SHAPE(v->ffn, v->hidden), "uniform a", a);
    pl_value *c = vector(v, "mlp.0.bias", v->ffn, "normal std=1e-6");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "mlp.0", "bsm,fm->bsf", x, w);
    y = drop(v, PL_ADD_AS(b, &pl_op_gelu, "mlp.1", "; tanh=0",
                          PL_ADD(b, &pl_op_add, "...f,f->...f", y, c)));
    w = weight(v, "mlp.3.weight", PL_SHAPE(v->hidden, v->ffn), "uniform a", a);
    c = vector(v, "mlp.3.bias", v->hidden, "normal std=1e-6");
    y = PL_ADD_AS(b, &pl_op_einsum, "mlp.3", "bsf,mf->bsm", y, w);
    return drop(v, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

/* Tokens [batch, 1 + patches, hidden] of image [batch, size, size, 3]. */
static pl_value *embed(vit *v, pl_value *image, int64_t patch)
{
    pl_builder *b = v->b;
    int64_t m = v->hidden, side = image->shape.dim[1] / patch, n = 1 + side * side;
    pl_value *w = weight(v, "conv_proj.weight", PL_SHAPE(m, 3, patch, patch), "normal std",
                         sqrt(1 / (double)(3 * patch * patch)));
    pl_value *c = vector(v, "conv_proj.bias", m, "zeros");
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld", (long long)patch);
    pl_value *x = PL_ADD(b, &pl_op_add, "nyxo,o->nyxo",
                         PL_ADD_AS(b, &pl_op_conv2d, "conv_proj", spec, image, w), c);
    x = PL_ADD_AS(b, &pl_op_reshape, "patches", "nyxm->n(yx)m", x);
    pl_value *token = pl_add_state(b, "class_token", PL_F32, PL_SHAPE(1, 1, m), "zeros", true);
    token = PL_ADD(b, &pl_op_reshape, "tum->m", token);
    token = PL_ADD(b, &pl_op_broadcast,
                   pl_builder_fmt(b, "m->bm; b=%lld", (long long)image->shape.dim[0]), token);
    x = PL_ADD_AS(b, &pl_op_concat, "tokens", "bm,bpm->bsm", token, x);
    pl_value *places = weight(v, "encoder.pos_embedding", PL_SHAPE(1, n, m), "normal std", 0.02);
    places = PL_ADD(b, &pl_op_reshape, "tsm->sm", places);
    return drop(v, PL_ADD_AS(b, &pl_op_add, "encoder.pos", "bsm,sm->bsm", x, places));
}

/* The class is told by the first token alone. */
static pl_value *head(vit *v, pl_value *x, int64_t classes)
{
    pl_builder *b = v->b;
    x = PL_ADD_AS(b, &pl_op_slice, "first", "bvm->bum; u=1", x);
    x = PL_ADD(b, &pl_op_reshape, "bum->bm", x);
    pl_value *w = weight(v, "heads.head.weight", PL_SHAPE(classes, v->hidden), "normal std", 0.02);
    pl_value *c = vector(v, "heads.head.bias", classes, "zeros");
    x = PL_ADD_AS(b, &pl_op_einsum, "heads.head", "bm,om->bo", x, w);
    return PL_ADD(b, &pl_op_add, "bo,o->bo", x, c);
}

static void check_sizes(const vit *v, const pl_model_args *a)
{
    long long size = (long long)pl_model_int(a, "size"),
              patch = (long long)pl_model_int(a, "patch");
    if (v->hidden % v->heads)
        pl_err_set(&v->b->err, PL_EINPUT, "%s: hidden=%lld does not divide into heads=%lld",
                   a->spec, (long long)v->hidden, (long long)v->heads);
    if (size % patch)
        pl_err_set(&v->b->err, PL_EINPUT,
                   "%s: size=%lld does not divide into patches of patch=%lld", a->spec, size,
                   patch);
    if (v->dropout >= 1)
        pl_err_set(&v->b->err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, v->dropout);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    vit v = { .b = b,
              .hidden = pl_model_int(a, "hidden"),
              .ffn = pl_model_int(a, "ffn"),
              .heads = pl_model_int(a, "heads"),
              .dropout = pl_model_real(a, "dropout") };
    int64_t size = pl_model_int(a, "size");
    check_sizes(&v, a);
    if (b->err.code) return;
    pl_value *x =
        pl_add_input(b, "image", PL_F32, PL_SHAPE(pl_model_int(a, "batch"), size, size, 3));
    if (mode == PL_TRAIN && v.dropout > 0) v.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    x = embed(&v, x, pl_model_int(a, "patch"));
    for (int64_t i = 0; i < pl_model_int(a, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "encoder.layers.encoder_layer_%lld.", (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&v, norm(&v, "ln_1", x)));
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(&v, norm(&v, "ln_2", x)));
    }
    b->scope = "";
    x = head(&v, norm(&v, "encoder.ln", x), pl_model_int(a, "classes"));
    pl_model_finish(b, mode, x, "label");
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "ffn", "3072", 1, "width inside the feed-forward layer" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "patch", "16", 1, "height and width of a patch; divides size" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    { "dropout", "0.0", 0, "of embedding, feed-forward and both residuals" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_model_vit_b_16 = { "vit_b_16", "ViT-B/16, a vision transformer, 86.6M",
                                     NULL,       "images",
                                     keys,       build };
