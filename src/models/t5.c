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
#include "models/models.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

typedef struct t5 {
    pl_builder *b;
    pl_mode mode;
    int64_t batch, seq, hidden, ffn, heads, head, buckets, limit;
    bool gated;
    const char *act;
    double dropout;
    const char *eps; /* spec of a norm */
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} t5;

static pl_value *weight(t5 *t, const char *name, int64_t rows, int64_t columns, double std)
{
    return pl_add_state(t->b, name, PL_F32, PL_SHAPE(rows, columns),
                        pl_builder_fmt(t->b, "normal std=%.17g", std), PL_WEIGHT);
}

static pl_value *drop(t5 *t, pl_value *x)
{
    if (t->mode != PL_TRAIN || t->dropout <= 0) return x;
    const char *spec = pl_builder_fmt(t->b, "; p=%.17g stream=%d", t->dropout, ++t->n_dropouts);
    return PL_ADD(t->b, &pl_op_dropout, spec, x, t->seed);
}

static pl_value *norm(t5 *t, const char *name, pl_value *x)
{
    pl_value *scale = pl_add_state(t->b, pl_builder_fmt(t->b, "%s.weight", name), PL_F32,
                                   PL_SHAPE(t->hidden), "ones", PL_WEIGHT);
    return PL_ADD_AS(t->b, &pl_op_rms_norm, name, t->eps, x, scale);
}

/* y = x w^T, named after its weight [rows, columns]; `letters` are those of both operands. */
static pl_value *linear(t5 *t, const char *name, const char *letters, int64_t rows, int64_t columns,
                        double std, pl_value *x)
{
    pl_value *w = weight(t, pl_builder_fmt(t->b, "%s.weight", name), rows, columns, std);
    return PL_ADD_AS(t->b, &pl_op_einsum, name, letters, x, w);
}

/* What a stack adds to the scores of all its blocks, [heads, queries, keys]: both sides of a query
 * have buckets of their own, or only what is before it. */
static pl_value *position_bias(t5 *t, const char *stack, bool both)
{
    pl_builder *b = t->b;
    const char *table =
        pl_builder_fmt(b, "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack);
    const char *spec =
        pl_builder_fmt(b, "->qk; q=%lld k=%lld buckets=%lld limit=%lld both=%d", (long long)t->seq,
                       (long long)t->seq, (long long)t->buckets, (long long)t->limit, both);
    pl_value *w = weight(t, table, t->buckets, t->heads, 1 / sqrt((double)t->hidden));
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
    pl_builder *b = t->b;
    int64_t inner = t->heads * t->head, m = t->hidden;
    double std = 1 / sqrt((double)m);
    const char *in = pl_builder_fmt(b, "bsm,(hd)m->bshd; h=%lld", (long long)t->heads);
    const char *out = pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)t->heads);
    pl_value *q =
        linear(t, pl_builder_fmt(b, "%s.q", name), in, inner, m, std / sqrt((double)t->head), x);
    pl_value *k = linear(t, pl_builder_fmt(b, "%s.k", name), in, inner, m, std, from);
    pl_value *v = linear(t, pl_builder_fmt(b, "%s.v", name), in, inner, m, std, from);
    pl_value *p =
        PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "%s.scores", name), "bqhd,bkhd->bhqk", q, k);
    if (bias) p = PL_ADD(b, &pl_op_add, "bhqk,hqk->bhqk", p, bias);
    p = PL_ADD_AS(b, &pl_op_softmax, pl_builder_fmt(b, "%s.softmax", name),
                  causal ? "; causal=1" : NULL, p);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "%s.mix", name), "bhqk,bkhd->bqhd",
                            drop(t, p), v);
    return drop(
        t, linear(t, pl_builder_fmt(b, "%s.o", name), out, m, inner, 1 / sqrt((double)inner), y));
}

static pl_value *mlp(t5 *t, const char *layer, pl_value *x)
{
    pl_builder *b = t->b;
    const char *name = pl_builder_fmt(b, "%s.DenseReluDense", layer);
    double std = 1 / sqrt((double)t->hidden);
    pl_value *y = linear(t, pl_builder_fmt(b, t->gated ? "%s.wi_0" : "%s.wi", name), "bsm,fm->bsf",
                         t->ffn, t->hidden, std, x);
    if (t->gated) {
        pl_value *up =
            linear(t, pl_builder_fmt(b, "%s.wi_1", name), "bsm,fm->bsf", t->ffn, t->hidden, std, x);
        y = PL_ADD_AS(b, &pl_op_mul, pl_builder_fmt(b, "%s.gated", name), NULL,
                      pl_act_add(b, t->act, name, y), up);
    } else
        y = pl_act_add(b, t->act, name, y);
    y = drop(t, y);
    y = linear(t, pl_builder_fmt(b, "%s.wo", name), "bsf,mf->bsm", t->hidden, t->ffn,
               1 / sqrt((double)t->ffn), y);
    return drop(t, y);
}

/* A stack over x [batch, seq, hidden]; the decoder is the one that has `encoded`. */
static pl_value *stack(t5 *t, const char *name, int64_t layers, pl_value *x, pl_value *encoded)
{
    pl_builder *b = t->b;
    pl_value *bias = position_bias(t, name, !encoded);
    for (int64_t i = 0; i < layers && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "%s.block.%lld.", name, (long long)i);
        pl_value *y = norm(t, "layer.0.layer_norm", x);
        y = attention(t, "layer.0.SelfAttention", y, y, bias, encoded != NULL);
        x = PL_ADD(b, &pl_op_add, NULL, x, y);
        if (encoded) {
            y = norm(t, "layer.1.layer_norm", x);
            y = attention(t, "layer.1.EncDecAttention", y, encoded, NULL, false);
            x = PL_ADD(b, &pl_op_add, NULL, x, y);
        }
        const char *last = encoded ? "layer.2" : "layer.1";
        y = norm(t, pl_builder_fmt(b, "%s.layer_norm", last), x);
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(t, last, y));
    }
    b->scope = "";
    return drop(t, norm(t, pl_builder_fmt(b, "%s.final_layer_norm", name), x));
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    t5 t = { .b = b,
             .mode = mode,
             .batch = pl_model_int(a, "batch"),
             .seq = pl_model_int(a, "seq"),
             .hidden = pl_model_int(a, "hidden"),
             .ffn = pl_model_int(a, "ffn"),
             .heads = pl_model_int(a, "heads"),
             .head = pl_model_int(a, "head"),
             .buckets = pl_model_int(a, "buckets"),
             .limit = pl_model_int(a, "limit"),
             .gated = pl_model_int(a, "gated"),
             .act = pl_model_word(a, "act"),
             .eps = pl_builder_fmt(b, "; eps=%.9g", pl_model_real(a, "eps")),
             .dropout = pl_model_real(a, "dropout") };
    if (!strcmp(t.act, "usual")) t.act = t.gated ? "gelu_tanh" : "relu";
    int64_t layers = pl_model_int(a, "layers"), decoder = pl_model_int(a, "decoder");
    if (t.dropout >= 1)
        pl_err_set(&b->err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, t.dropout);
    pl_value *tokens = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(t.batch, t.seq));
    if (mode == PL_TRAIN && t.dropout > 0) t.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    pl_value *table = weight(&t, "shared.weight", pl_model_int(a, "vocab"), t.hidden, 1);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "encoder.embed", "vm,bs->bsm", table, tokens);
    x = stack(&t, "encoder", layers, drop(&t, x), NULL);
    pl_value *y = PL_ADD_AS(b, &pl_op_embedding, "decoder.embed", "vm,bs->bsm", table, tokens);
    y = stack(&t, "decoder", decoder ? decoder : layers, drop(&t, y), x);
    if (pl_model_int(a, "tied") && pl_model_int(a, "scaled"))
        y = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / sqrt((double)t.hidden)),
                   y);
    if (!pl_model_int(a, "tied"))
        table = weight(&t, "lm_head.weight", pl_model_int(a, "vocab"), t.hidden,
                       1 / sqrt((double)t.hidden));
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
    { "gated", "0", 0, "1: the feed-forward layer is gated (T5 1.1)" },
    { "act", "usual", 0, "of that layer; usual: GELU by tanh where gated, else ReLU",
      "usual " PL_ACT_WORDS },
    { "tied", "1", 0, "1: the output reads the table of the input" },
    { "scaled", "1", 0, "1: what reads that table is divided by the root of hidden" },
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

const pl_model pl_models_t5[] = {
    { "t5", ABOUT(", a small one over bytes, 7M"), NULL, "text", keys, build },
    ROW("t5-small", " small, 61M", 6, 512, 2048, 8, 64),
    ROW("t5-base", " base, 223M", 12, 768, 3072, 12, 64),
    ROW("t5-large", " large, 738M", 24, 1024, 4096, 16, 64),
    ROW("t5-3b", " 3B, 2852M", 24, 1024, 16384, 32, 128),
    ROW("t5-11b", " 11B, 11307M", 24, 1024, 65536, 128, 128),
    { 0 },
};
