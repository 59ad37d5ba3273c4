/* ViT, a vision transformer: square patches of the image are the tokens of an encoder of L blocks,
 * x += attention(norm(x)), x += mlp(norm(x)); a learned token before them gathers what the class is
 * told by. Positions are learned.
 * Source: Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021; sizes, names of the
 * weights, which are [out, in], and places of dropout as in torchvision (vit_b_16) and transformers
 * (vit-base); initial values as in torchvision, but for the last layer's: its zeros would keep
 * every other gradient of the first step at 0. */
#include "models/act.h"
#include "models/models.h"
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
    pl_builder *b;
    const naming *name;
    const char *eps; /* spec of a norm's last part */
    const char *act;
    int64_t hidden, ffn, heads;
    bool bias; /* of queries, keys and values */
    double dropout;
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} vit;

static pl_value *weight(vit *v, const char *name, pl_shape shape, const char *kind, double size)
{
    return pl_add_state(v->b, name, PL_F32, shape, pl_builder_fmt(v->b, "%s=%.17g", kind, size),
                        PL_WEIGHT);
}

static pl_value *vector(vit *v, const char *name, int64_t n, const char *init)
{
    return pl_add_state(v->b, name, PL_F32, PL_SHAPE(n), init, PL_WEIGHT);
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
    return PL_ADD_AS(v->b, &pl_op_layer_norm, name, v->eps, x, sum, deviation, scale, bias);
}

/* Glorot & Bengio, "Understanding the difficulty of training deep feedforward networks", 2010. */
static double glorot(int64_t in, int64_t out)
{
    return sqrt(6 / (double)(in + out));
}

/* y = x w^T + c of the weight `name` [out, in]; `letters` are those of x, w and y, `bias` those of
 * y, c and y, or NULL without c. */
static pl_value *linear(vit *v, const char *name, const char *letters, const char *bias,
                        pl_shape shape, double a, const char *init, pl_value *x)
{
    pl_builder *b = v->b;
    pl_value *w = weight(v, pl_builder_fmt(b, "%s.weight", name), shape, "uniform a", a);
    x = PL_ADD_AS(b, &pl_op_einsum, name, letters, x, w);
    if (!bias) return x;
    pl_value *c = vector(v, pl_builder_fmt(b, "%s.bias", name), shape.dim[0], init);
    return PL_ADD(b, &pl_op_add, bias, x, c);
}

/* Queries, keys and values [batch, seq, heads, hidden / heads] of x, from one weight of all. */
static void project_all(vit *v, pl_value *x, pl_value *out[3])
{
    pl_builder *b = v->b;
    int64_t m = v->hidden;
    const char *name = v->name->qkv, *sizes = pl_builder_fmt(b, "v=3 h=%lld", (long long)v->heads);
    pl_value *w = weight(v, pl_builder_fmt(b, "%s_weight", name), PL_SHAPE(3 * m, m), "uniform a",
                         glorot(m, 3 * m));
    pl_value *c = vector(v, pl_builder_fmt(b, "%s_bias", name), 3 * m, "zeros");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "self_attention.qkv",
                            pl_builder_fmt(b, "bsm,(vhd)m->bs(vhd); %s", sizes), x, w);
    y = PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bs(vhd),(vhd)->bs(vhd); %s", sizes), y, c);
    const pl_node *qkv = pl_add_node(b, &pl_op_split, "self_attention.split",
                                     pl_builder_fmt(b, "bs(vhd)->bshd,bshd,bshd; %s", sizes), 1,
                                     (pl_value *const[]){ y });
    for (int i = 0; i < 3; i++) out[i] = qkv ? qkv->out[i] : NULL;
}

/* The same from three. */
static void project_each(vit *v, pl_value *x, pl_value *out[3])
{
    pl_builder *b = v->b;
    const char *names[] = { v->name->q, v->name->k, v->name->v };
    const char *h = pl_builder_fmt(b, "h=%lld", (long long)v->heads);
    for (int i = 0; i < 3; i++)
        out[i] =
            linear(v, names[i], pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", h),
                   v->bias ? pl_builder_fmt(b, "bshd,(hd)->bshd; %s", h) : NULL,
                   PL_SHAPE(v->hidden, v->hidden), glorot(v->hidden, 3 * v->hidden), "zeros", x);
}

static pl_value *attention(vit *v, pl_value *x)
{
    pl_builder *b = v->b;
    int64_t m = v->hidden;
    pl_value *qkv[3];
    (v->name->qkv ? project_all : project_each)(v, x, qkv);
    pl_value *p =
        PL_ADD_AS(b, &pl_op_einsum, "self_attention.scores", "bqhd,bkhd->bhqk", qkv[0], qkv[1]);
    const char *scale = pl_builder_fmt(b, "; scale=%.17g", 1 / sqrt((double)(m / v->heads)));
    p = PL_ADD_AS(b, &pl_op_softmax, "self_attention.softmax", scale, p);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "self_attention.mix", "bhqk,bkhd->bqhd", p, qkv[2]);
    return drop(v, linear(v, v->name->out,
                          pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)v->heads),
                          "...m,m->...m", PL_SHAPE(m, m), 1 / sqrt((double)m), "zeros", y));
}

static pl_value *mlp(vit *v, pl_value *x)
{
    pl_builder *b = v->b;
    double a = glorot(v->hidden, v->ffn);
    pl_value *y = linear(v, v->name->up, "bsm,fm->bsf", "...f,f->...f", PL_SHAPE(v->ffn, v->hidden),
                         a, "normal std=1e-6", x);
    y = pl_act_add(b, v->act, "mlp", y);
    if (v->name->inner) y = drop(v, y);
    return drop(v, linear(v, v->name->down, "bsf,mf->bsm", "...m,m->...m",
                          PL_SHAPE(v->hidden, v->ffn), a, "normal std=1e-6", y));
}

/* Tokens [batch, 1 + patches, hidden] of image [batch, size, size, 3]. */
static pl_value *embed(vit *v, pl_value *image, int64_t patch)
{
    pl_builder *b = v->b;
    int64_t m = v->hidden, side = image->shape.dim[1] / patch, n = 1 + side * side;
    pl_value *w =
        weight(v, pl_builder_fmt(b, "%s.weight", v->name->patches), PL_SHAPE(m, 3, patch, patch),
               "normal std", sqrt(1 / (double)(3 * patch * patch)));
    pl_value *c = vector(v, pl_builder_fmt(b, "%s.bias", v->name->patches), m, "zeros");
    const char *spec = pl_builder_fmt(b, "n[y+r][x+s]c,ocrs->nyxo; stride=%lld", (long long)patch);
    pl_value *x = PL_ADD(b, &pl_op_add, "nyxo,o->nyxo",
                         PL_ADD_AS(b, &pl_op_conv2d, v->name->patches, spec, image, w), c);
    x = PL_ADD_AS(b, &pl_op_reshape, "patches", "nyxm->n(yx)m", x);
    pl_value *token =
        pl_add_state(b, v->name->token, PL_F32, PL_SHAPE(1, 1, m), "zeros", PL_WEIGHT);
    token = PL_ADD(b, &pl_op_reshape, "tum->m", token);
    token = PL_ADD(b, &pl_op_broadcast,
                   pl_builder_fmt(b, "m->bm; b=%lld", (long long)image->shape.dim[0]), token);
    x = PL_ADD_AS(b, &pl_op_concat, "tokens", "bm,bpm->bsm", token, x);
    pl_value *places = weight(v, v->name->places, PL_SHAPE(1, n, m), "normal std", 0.02);
    places = PL_ADD(b, &pl_op_reshape, "tsm->sm", places);
    return drop(v, PL_ADD_AS(b, &pl_op_add, "encoder.pos", "bsm,sm->bsm", x, places));
}

/* The class is told by the first token alone. */
static pl_value *head(vit *v, pl_value *x, int64_t classes)
{
    pl_builder *b = v->b;
    x = PL_ADD_AS(b, &pl_op_slice, "first", "bvm->bum; u=1", x);
    x = PL_ADD(b, &pl_op_reshape, "bum->bm", x);
    pl_value *w = weight(v, pl_builder_fmt(b, "%s.weight", v->name->head),
                         PL_SHAPE(classes, v->hidden), "normal std", 0.02);
    pl_value *c = vector(v, pl_builder_fmt(b, "%s.bias", v->name->head), classes, "zeros");
    x = PL_ADD_AS(b, &pl_op_einsum, v->name->head, "bm,om->bo", x, w);
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
    if (!v->bias && v->name->qkv)
        pl_err_set(&v->b->err, PL_EINPUT, "%s: qkv_bias=0 is for vit-base and its sizes", a->spec);
    if (v->dropout >= 1)
        pl_err_set(&v->b->err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, v->dropout);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode, const naming *name)
{
    vit v = { .b = b,
              .name = name,
              .eps = pl_builder_fmt(b, "; eps=%.9g", pl_model_real(a, "eps")),
              .act = pl_model_word(a, "act"),
              .bias = pl_model_int(a, "qkv_bias"),
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
        b->scope = pl_builder_fmt(b, "%s%lld.", name->block, (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&v, norm(&v, name->norm1, x)));
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(&v, norm(&v, name->norm2, x)));
    }
    b->scope = "";
    x = head(&v, norm(&v, name->norm, x), pl_model_int(a, "classes"));
    pl_model_finish(b, mode, x, "label");
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
    { "qkv_bias", "1", 0, "1: queries, keys and values have biases" },
    { "eps", "0.000001", 0, "of the norms" },
    { "size", "224", 1, "height and width of an image" },
    { "classes", "1000", 2, "of the labels" },
    { "batch", "16", 1, "images per step, over all devices" },
    { "dropout", "0.0", 0, "of embedding, feed-forward and both residuals" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define VIT(name, about, sizes)                                                                    \
    {                                                                                              \
        name, about ", weights named as transformers has them", sizes, "images", keys,             \
            build_transformers                                                                     \
    }

const pl_model pl_models_vit[] = {
    { "vit_b_16", "ViT-B/16, a vision transformer, 86.6M", NULL, "images", keys,
      build_torchvision },
    VIT("vit-base", "ViT-B/16", "eps=1e-12"),
    VIT("vit-large", "ViT-L/16, 304.3M", "eps=1e-12,layers=24,hidden=1024,ffn=4096,heads=16"),
    { 0 },
};
