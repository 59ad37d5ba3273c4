/* T5: an encoder of x += attention(norm(x)), x += mlp(norm(x)), and a decoder that between these
 * two also attends to what the encoder made. RMS norms, no biases; positions are known by a learned
 * number per head for each distance of query and key (in buckets), added to the scores; one table
 * of them per stack. Scores are not divided by sqrt(d): the initial weights make up for that. One
 * token table serves the encoder, the decoder and, divided by sqrt(hidden), the output, which in
 * T5 1.1 has one of its own (Shazeer, "GLU variants improve transformer", 2020, for its layers).
 *
 * Encoder and decoder read the same row, and the decoder writes it again, one token ahead: both
 * stacks work at full length on any text. As the encoder sees the token that is asked for, that is
 * an autoencoder's task (Raffel's objectives leave out spans of what the encoder reads), and its
 * loss is not that of a language model.
 * Source: Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
 * transformer", 2020; sizes, names of the weights, which are [out, in], initial values and places
 * of dropout as in the published checkpoints and code. */
#include "models/act.h"
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

typedef struct t5 {
    pl_layers l;
    int64_t seq, hidden, ffn, heads, head, buckets, limit;
    bool gated;
    const char *act;
} t5;

/* y = x w^T, of the weight [rows, columns]. */
static pl_value *linear(t5 *t, const char *name, const char *letters, int64_t rows, int64_t columns,
                        double std, pl_value *x)
{
    return pl_layers_linear(&t->l, name, letters, PL_SHAPE(rows, columns),
                            pl_layers_normal(t->l.b, std), x);
}

/* What a stack adds to the scores of all its blocks, [heads, queries, keys]: both sides of a query
 * have buckets of their own, or only what is before it. */
static pl_value *position_bias(t5 *t, const char *stack, bool both)
{
    pl_builder *b = t->l.b;
    const char *table =
        pl_builder_fmt(b, "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack);
    const char *spec =
        pl_builder_fmt(b, "->qk; q=%lld k=%lld buckets=%lld limit=%lld both=%d", (long long)t->seq,
                       (long long)t->seq, (long long)t->buckets, (long long)t->limit, both);
    pl_value *w = pl_layers_weight(&t->l, table, PL_SHAPE(t->buckets, t->heads),
                                   pl_layers_normal(b, 1 / sqrt((double)t->hidden)));
    pl_value *bucket = pl_add_value(b, &pl_op_relative_bucket,
                                    pl_builder_fmt(b, "%s.bucket", stack), spec, 0, NULL);
    pl_value *bias = PL_ADD_AS(b, &pl_op_embedding, pl_builder_fmt(b, "%s.distance", stack),
                               "vh,qk->qkh", w, bucket);
    return PL_ADD_AS(b, &pl_op_transpose, pl_builder_fmt(b, "%s.bias", stack), "qkh->hqk", bias);
}

/* Queries of x, keys and values of `from`; `bias` may be NULL. */
static pl_value *attention(t5 *t, const char *name, pl_value *x, pl_value *from, pl_value *bias,
                           bool causal)
{
    pl_builder *b = t->l.b;
    const int64_t inner = t->heads * t->head, m = t->hidden;
    const char *in = pl_builder_fmt(b, "bsm,(hd)m->bshd; h=%lld", (long long)t->heads);
    const char *out = pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)t->heads);
    const double std = 1 / sqrt((double)m);
    pl_value *qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = linear(t, pl_builder_fmt(b, "%s.%c", name, "qkv"[i]), in, inner, m,
                        i ? std : std / sqrt((double)t->head), i ? from : x);
    x = pl_layers_attend(&t->l, name, qkv, bias, causal ? "causal=1" : "", true);
    x = linear(t, pl_builder_fmt(b, "%s.o", name), out, m, inner, 1 / sqrt((double)inner), x);
    return pl_layers_drop(&t->l, x);
}

static pl_value *mlp(t5 *t, const char *layer, pl_value *x)
{
    pl_builder *b = t->l.b;
    const char *name = pl_builder_fmt(b, "%s.DenseReluDense", layer);
    const char *first = pl_builder_fmt(b, t->gated ? "%s.wi_0" : "%s.wi", name),
               *second = pl_builder_fmt(b, "%s.wi_1", name);
    const double std = 1 / sqrt((double)t->hidden);
    pl_value *y = linear(t, first, "bsm,fm->bsf", t->ffn, t->hidden, std, x), *up = NULL;
    if (t->gated) up = linear(t, second, "bsm,fm->bsf", t->ffn, t->hidden, std, x);
    y = pl_act_add(b, t->act, name, y);
    if (t->gated) y = PL_ADD_AS(b, &pl_op_mul, pl_builder_fmt(b, "%s.gated", name), NULL, y, up);
    y = pl_layers_drop(&t->l, y);
    y = linear(t, pl_builder_fmt(b, "%s.wo", name), "bsf,mf->bsm", t->hidden, t->ffn,
               1 / sqrt((double)t->ffn), y);
    return pl_layers_drop(&t->l, y);
}

static pl_value *norm(t5 *t, const char *layer, const char *what, pl_value *x)
{
    return pl_layers_rms_norm(&t->l, pl_builder_fmt(t->l.b, "%s.%s", layer, what), "", x);
}

/* A stack over x [batch, seq, hidden]; the decoder is the one that has `encoded`. */
static pl_value *stack(t5 *t, const char *name, int64_t layers, pl_value *x, pl_value *encoded)
{
    pl_builder *b = t->l.b;
    pl_value *bias = position_bias(t, name, !encoded);
    for (int64_t i = 0; i < layers && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "%s.block.%lld.", name, (long long)i);
        pl_value *y = norm(t, "layer.0", "layer_norm", x);
        y = attention(t, "layer.0.SelfAttention", y, y, bias, encoded != NULL);
        x = PL_ADD(b, &pl_op_add, NULL, x, y);
        if (encoded) {
            y = norm(t, "layer.1", "layer_norm", x);
            y = attention(t, "layer.1.EncDecAttention", y, encoded, NULL, false);
            x = PL_ADD(b, &pl_op_add, NULL, x, y);
        }
        const char *last = encoded ? "layer.2" : "layer.1";
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(t, last, norm(t, last, "layer_norm", x)));
    }
    b->scope = "";
    return pl_layers_drop(&t->l, norm(t, name, "final_layer_norm", x));
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    t5 t = { .l = pl_layers_new(b, args),
             .seq = pl_model_int(args, "seq"),
             .hidden = pl_model_int(args, "hidden"),
             .ffn = pl_model_int(args, "ffn"),
             .heads = pl_model_int(args, "heads"),
             .head = pl_model_int(args, "head"),
             .buckets = pl_model_int(args, "buckets"),
             .limit = pl_model_int(args, "limit"),
             .gated = pl_model_int(args, "gated"),
             .act = pl_model_word(args, "act") };
    if (!strcmp(t.act, "usual")) t.act = t.gated ? "gelu_tanh" : "relu";
    const int64_t layers = pl_model_int(args, "layers"), decoder = pl_model_int(args, "decoder");
    const pl_shape words = PL_SHAPE(pl_model_int(args, "vocab"), t.hidden);
    const double root = sqrt((double)t.hidden);
    pl_value *tokens = pl_model_tokens(b, args);
    pl_layers_add_seed(&t.l, args, mode);
    pl_value *table = pl_layers_weight(&t.l, "shared.weight", words, "normal std=1");
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "encoder.embed", "vm,bs->bsm", table, tokens);
    x = stack(&t, "encoder", layers, pl_layers_drop(&t.l, x), NULL);
    pl_value *y = PL_ADD_AS(b, &pl_op_embedding, "decoder.embed", "vm,bs->bsm", table, tokens);
    y = stack(&t, "decoder", decoder ? decoder : layers, pl_layers_drop(&t.l, y), x);
    if (pl_model_int(args, "tied") && pl_model_int(args, "scaled"))
        y = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / root), y);
    if (!pl_model_int(args, "tied"))
        table = pl_layers_weight(&t.l, "lm_head.weight", words, pl_layers_normal(b, 1 / root));
    y = PL_ADD_AS(b, &pl_op_einsum, "logits", "bsm,vm->bsv", y, table);
    pl_model_finish(b, mode, y, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "4", 1, "blocks of each stack" },
    { "decoder", "0", 0, "blocks of the decoder; 0: as many as layers" },
    { "hidden", "256", 1, "width of the residual stream" },
    { "ffn", "1024", 1, "width inside the feed-forward layer" },
    { "heads", "4", 1, "attention heads" },
    { "head", "64", 1, "width of a head; need not divide hidden" },
    { "vocab", "256", 2, "tokens (bytes need 256)" },
    { "buckets", "32", 4, "of relative positions" },
    { "limit", "128", 2, "distance from which all share a bucket" },
    { "gated", "0", 0, "1: the feed-forward layer is gated (T5 1.1)", .most = 1 },
    { "act", "usual", 0, "of that layer; usual: GELU by tanh where gated, else ReLU",
      "usual " PL_ACT_WORDS },
    { "tied", "1", 0, "1: the output reads the table of the input", .most = 1 },
    { "scaled", "1", 0, "1: what reads that table is divided by the root of hidden", .most = 1,
      .needs = "tied!=0" },
    { "eps", "0.000001", 0, "of the norms" },
    { "seq", "128", 1, "positions per row, which both stacks read" },
    { "batch", "8", 1, "rows per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, attention, feed-forward and residuals" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define SIZES(layers, hidden, ffn, heads, head)                                                    \
    "layers=" #layers ",hidden=" #hidden ",ffn=" #ffn ",heads=" #heads ",head=" #head              \
    ",vocab=32128,seq=512,batch=1"
#define ABOUT(what) "T5" what "; the decoder writes again what the encoder reads"

#define ROW(name, about, ...)                                                                      \
    {                                                                                              \
        name, ABOUT(about), SIZES(__VA_ARGS__), "text", keys, build                                \
    }

const pl_family pl_models_t5[] = {
    { "t5", ABOUT(", a small one over bytes, 7M"), NULL, "text", keys, build },
    ROW("t5-small", " small, 61M", 6, 512, 2048, 8, 64),
    ROW("t5-base", " base, 223M", 12, 768, 3072, 12, 64),
    ROW("t5-large", " large, 738M", 24, 1024, 4096, 16, 64),
    ROW("t5-3b", " 3B, 2852M", 24, 1024, 16384, 32, 128),
    ROW("t5-11b", " 11B, 11307M", 24, 1024, 65536, 128, 128),
    { 0 },
};
