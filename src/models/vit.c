/* ViT, a vision transformer: square patches of the image are the tokens of an encoder of L blocks,
 * x += attention(norm(x)), x += mlp(norm(x)); a learned token before them gathers what the class is
 * told by. Positions are learned.
 * Source: Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021; sizes, names of the
 * weights, which are [out, in], and places of dropout as in torchvision (vit_b_16) and transformers
 * (vit-base); initial values as in torchvision, but for the last layer's: its zeros would keep
 * every other gradient of the first step at 0. */
#include "models/act.h"
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>

typedef struct naming {
    const char *patches, *token, *places, *block, *norm, *head; /* block: its number comes behind */
    const char *qkv, *q, *k, *v; /* one weight of all three, NULL: one each                   */
    const char *norm1, *norm2, *out, *up, *down; /* within a block                                */
    bool inner; /* dropout within the feed-forward layer too                 */
} naming;

static const naming of_torchvision = {
    .patches = "conv_proj",
    .token = "class_token",
    .places = "encoder.pos_embedding",
    .block = "encoder.layers.encoder_layer_",
    .norm = "encoder.ln",
    .head = "heads.head",
    .qkv = "self_attention.in_proj",
    .norm1 = "ln_1",
    .norm2 = "ln_2",
    .out = "self_attention.out_proj",
    .up = "mlp.0",
    .down = "mlp.3",
    .inner = true,
};

static const naming of_transformers = {
    .patches = "vit.embeddings.patch_embeddings.projection",
    .token = "vit.embeddings.cls_token",
    .places = "vit.embeddings.position_embeddings",
    .block = "vit.encoder.layer.",
    .norm = "vit.layernorm",
    .head = "classifier",
    .q = "attention.attention.query",
    .k = "attention.attention.key",
    .v = "attention.attention.value",
    .norm1 = "layernorm_before",
    .norm2 = "layernorm_after",
    .out = "attention.output.dense",
    .up = "intermediate.dense",
    .down = "output.dense",
};

typedef struct vit {
    pl_layers l;
    const naming *name;
    const char *act;
    int64_t hidden, ffn, heads;
    bool bias; /* of queries, keys and values */
} vit;

/* Glorot & Bengio, "Understanding the difficulty of training deep feedforward networks", 2010. */
static const char *glorot(vit *v, int64_t in, int64_t out)
{
    return pl_layers_uniform(v->l.b, sqrt(6 / (double)(in + out)));
}

/* Queries, keys and values [batch, seq, heads, hidden / heads] of x, from one weight of all. */
static void project_all(vit *v, pl_value *x, pl_value *out[3])
{
    pl_builder *b = v->l.b;
    const int64_t m = v->hidden;
    const char *name = v->name->qkv, *sizes = pl_builder_fmt(b, "v=3 h=%lld", (long long)v->heads);
    pl_value *w = pl_layers_weight(&v->l, pl_builder_fmt(b, "%s_weight", name), PL_SHAPE(3 * m, m),
                                   glorot(v, m, 3 * m));
    pl_value *c =
        pl_layers_weight(&v->l, pl_builder_fmt(b, "%s_bias", name), PL_SHAPE(3 * m), "zeros");
    x = PL_ADD_AS(b, &pl_op_einsum, "self_attention.qkv",
                  pl_builder_fmt(b, "bsm,(vhd)m->bs(vhd); %s", sizes), x, w);
    x = PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bs(vhd),(vhd)->bs(vhd); %s", sizes), x, c);
    pl_layers_split(&v->l, "self_attention.split",
                    pl_builder_fmt(b, "bs(vhd)->bshd,bshd,bshd; %s", sizes), 3, x, out);
}

/* The same from three. */
static void project_each(vit *v, pl_value *x, pl_value *out[3])
{
    pl_builder *b = v->l.b;
    const int64_t m = v->hidden;
    const char *names[] = { v->name->q, v->name->k, v->name->v };
    const char *h = pl_builder_fmt(b, "h=%lld", (long long)v->heads);
    const char *into = pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", h),
               *bias = pl_builder_fmt(b, "bshd,(hd)->bshd; %s", h);
    for (int i = 0; i < 3; i++) {
        out[i] = pl_layers_linear(&v->l, names[i], into, PL_SHAPE(m, m), glorot(v, m, 3 * m), x);
        if (v->bias) out[i] = pl_layers_bias(&v->l, names[i], bias, PL_SHAPE(m), NULL, out[i]);
    }
}

static pl_value *attention(vit *v, pl_value *x)
{
    pl_builder *b = v->l.b;
    const int64_t m = v->hidden;
    const char *back = pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)v->heads);
    const char *scale = pl_builder_fmt(b, "scale=%.17g", 1 / sqrt((double)(m / v->heads)));
    const char *init = pl_layers_uniform(b, 1 / sqrt((double)m));
    pl_value *qkv[3];
    (v->name->qkv ? project_all : project_each)(v, x, qkv);
    x = pl_layers_attend(&v->l, "self_attention", qkv, NULL, scale, false);
    x = pl_layers_linear(&v->l, v->name->out, back, PL_SHAPE(m, m), init, x);
    x = pl_layers_bias(&v->l, v->name->out, "...m,m->...m", PL_SHAPE(m), NULL, x);
    return pl_layers_drop(&v->l, x);
}

static pl_value *mlp(vit *v, pl_value *x)
{
    const int64_t m = v->hidden, f = v->ffn;
    const char *init = glorot(v, m, f), *bias = "normal std=1e-6";
    x = pl_layers_linear(&v->l, v->name->up, "bsm,fm->bsf", PL_SHAPE(f, m), init, x);
    x = pl_layers_bias(&v->l, v->name->up, "...f,f->...f", PL_SHAPE(f), bias, x);
    x = pl_act_add(v->l.b, v->act, "mlp", x);
    if (v->name->inner) x = pl_layers_drop(&v->l, x);
    x = pl_layers_linear(&v->l, v->name->down, "bsf,mf->bsm", PL_SHAPE(m, f), init, x);
    x = pl_layers_bias(&v->l, v->name->down, "...m,m->...m", PL_SHAPE(m), bias, x);
    return pl_layers_drop(&v->l, x);
}

/* Tokens [batch, 1 + patches, hidden] of image [batch, size, size, 3]. */
static pl_value *embed(vit *v, pl_value *image, int64_t patch)
{
    if (!image) return NULL;
    pl_builder *b = v->l.b;
    const int64_t m = v->hidden, batch = image->shape.dim[0], side = image->shape.dim[1] / patch;
    const char *init = pl_layers_normal(b, sqrt(1 / (double)(3 * patch * patch)));
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld", (long long)patch);
    pl_value *w = pl_layers_weight(&v->l, pl_builder_fmt(b, "%s.weight", v->name->patches),
                                   PL_SHAPE(m, 3, patch, patch), init);
    pl_value *x = PL_ADD_AS(b, &pl_op_conv2d, v->name->patches, spec, image, w);
    x = pl_layers_bias(&v->l, v->name->patches, "nyxo,o->nyxo", PL_SHAPE(m), NULL, x);
    x = PL_ADD_AS(b, &pl_op_reshape, "patches", "nyxm->n(yx)m", x);
    pl_value *token = pl_layers_weight(&v->l, v->name->token, PL_SHAPE(1, 1, m), "zeros");
    token = PL_ADD(b, &pl_op_reshape, "tum->m", token);
    token =
        PL_ADD(b, &pl_op_broadcast, pl_builder_fmt(b, "m->bm; b=%lld", (long long)batch), token);
    x = PL_ADD_AS(b, &pl_op_concat, "tokens", "bm,bpm->bsm", token, x);
    pl_value *places =
        pl_layers_weight(&v->l, v->name->places, PL_SHAPE(1, 1 + side * side, m), NULL);
    places = PL_ADD(b, &pl_op_reshape, "tsm->sm", places);
    x = PL_ADD_AS(b, &pl_op_add, "encoder.pos", "bsm,sm->bsm", x, places);
    return pl_layers_drop(&v->l, x);
}

/* The class is told by the first token alone. */
static pl_value *head(vit *v, pl_value *x, int64_t classes)
{
    pl_builder *b = v->l.b;
    x = PL_ADD_AS(b, &pl_op_slice, "first", "bvm->bum; u=1", x);
    x = PL_ADD(b, &pl_op_reshape, "bum->bm", x);
    x = pl_layers_linear(&v->l, v->name->head, "bm,om->bo", PL_SHAPE(classes, v->hidden), NULL, x);
    return pl_layers_bias(&v->l, v->name->head, "bo,o->bo", PL_SHAPE(classes), NULL, x);
}

static void check_sizes(const vit *v, const pl_model_args *args)
{
    pl_err *err = &v->l.b->err;
    const long long size = (long long)pl_model_int(args, "size"),
                    patch = (long long)pl_model_int(args, "patch");
    pl_layers_check_sizes(v->l.b, args);
    if (size % patch)
        pl_err_set(err, PL_EINPUT, "%s: size=%lld does not divide into patches of patch=%lld",
                   args->spec, size, patch);
    if (!v->bias && v->name->qkv)
        pl_err_set(err, PL_EINPUT, "%s: qkv_bias=0 is for vit-base and its sizes", args->spec);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode, const naming *name)
{
    vit v = { .l = pl_layers_new(b, args),
              .name = name,
              .act = pl_model_word(args, "act"),
              .bias = pl_model_int(args, "qkv_bias"),
              .hidden = pl_model_int(args, "hidden"),
              .ffn = pl_model_int(args, "ffn"),
              .heads = pl_model_int(args, "heads") };
    check_sizes(&v, args);
    pl_value *x = pl_model_image(b, args);
    pl_layers_add_seed(&v.l, args, mode);
    x = embed(&v, x, pl_model_int(args, "patch"));
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "%s%lld.", name->block, (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&v, pl_layers_norm(&v.l, name->norm1, x)));
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(&v, pl_layers_norm(&v.l, name->norm2, x)));
    }
    b->scope = "";
    x = head(&v, pl_layers_norm(&v.l, name->norm, x), pl_model_int(args, "classes"));
    pl_model_finish_image(b, args, mode, x, NULL);
}

static void build_torchvision(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    build(b, a, mode, &of_torchvision);
}

static void build_transformers(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    build(b, a, mode, &of_transformers);
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "ffn", "3072", 1, "width inside the feed-forward layer" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "patch", "16", 1, "height and width of a patch; divides size" },
    { "act", "gelu", 0, "of the feed-forward layer", PL_ACT_WORDS },
    { "qkv_bias", "1", 0, "1: queries, keys and values have biases", .most = 1 },
    { "eps", "0.000001", 0, "of the norms" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    { "dropout", "0.0", 0, "of embedding, feed-forward and both residuals" },
    PL_MODEL_IMAGE_KEYS,
    PL_MODEL_DTYPE,
    { 0 },
};

#define VIT(name, about, sizes)                                                                    \
    {                                                                                              \
        name, about ", weights named as transformers has them", sizes, "images", keys,             \
            build_transformers                                                                     \
    }

const pl_family pl_models_vit[] = {
    { "vit_b_16", "ViT-B/16, a vision transformer, 86.6M", NULL, "images", keys,
      build_torchvision },
    VIT("vit-base", "ViT-B/16", "eps=1e-12"),
    VIT("vit-large", "ViT-L/16, 304.3M", "eps=1e-12,layers=24,hidden=1024,ffn=4096,heads=16"),
    { 0 },
};
