/* BERT and RoBERTa: encoders of L blocks, x = norm(x + attention(x)), x = norm(x + mlp(x)), where
 * every token sees all others. Positions are learned; the rows of RoBERTa's table up to its token
 * of padding are for padding, which this reads none of. All tokens are of type 0.
 *
 * With classes=0 the head is the one that fills in masked tokens, by the table of the input; every
 * position counts in its loss. The pooler and the head that tells whether a sentence is the next,
 * which published checkpoints of BERT have too, are left out. Else it is the smallest that has a
 * loss: a linear layer that tells the class of each token.
 * Source: Devlin et al., "BERT", 2019; Liu et al., "RoBERTa: a robustly optimized BERT pretraining
 * approach", 2019; sizes, names of the weights, which are [out, in], initial values and places of
 * dropout as in the published checkpoints and code. */
#include "models/act.h"
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

/* How the two differ, besides their keys. */
typedef struct naming {
    const char *prefix;              /* of the encoder's weights               */
    bool padded;                     /* the table of positions has such rows   */
    const char *dense, *norm, *bias; /* of the head for masked tokens          */
    const char *act;                 /* of that head; NULL: that of the blocks */
} naming;

static const naming of_bert = { "bert.",
                                false,
                                "cls.predictions.transform.dense",
                                "cls.predictions.transform.LayerNorm",
                                "cls.predictions.bias",
                                NULL };
static const naming of_roberta = { "roberta.",           true,           "lm_head.dense",
                                   "lm_head.layer_norm", "lm_head.bias", "gelu" };

typedef struct bert {
    pl_builder *b;
    const naming *kind;
    const char *eps; /* spec of a norm's last part                        */
    const char *act;
    int64_t padding; /* rows of the table of positions before the first   */
    int64_t seq, hidden, ffn, heads;
    double dropout;
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} bert;

static pl_value *weight(bert *r, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(r->b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", PL_WEIGHT);
}

static pl_value *vector(bert *r, const char *name, int64_t n, const char *init)
{
    return pl_add_state(r->b, name, PL_F32, PL_SHAPE(n), init, PL_WEIGHT);
}

static pl_value *drop(bert *r, pl_value *x)
{
    if (!r->seed) return x;
    const char *spec = pl_builder_fmt(r->b, "; p=%.17g stream=%d", r->dropout, ++r->n_dropouts);
    return PL_ADD(r->b, &pl_op_dropout, spec, x, r->seed);
}

static pl_value *norm(bert *r, const char *name, pl_value *x)
{
    pl_value *scale = vector(r, pl_builder_fmt(r->b, "%s.weight", name), r->hidden, "ones");
    pl_value *bias = vector(r, pl_builder_fmt(r->b, "%s.bias", name), r->hidden, "zeros");
    pl_value *sum = PL_ADD(r->b, &pl_op_layer_norm_sum, NULL, x);
    pl_value *deviation = PL_ADD(r->b, &pl_op_layer_norm_deviation, NULL, x, sum);
    return PL_ADD_AS(r->b, &pl_op_layer_norm, name, r->eps, x, sum, deviation, scale, bias);
}

/* y = x w^T + c over the last dimension of x [batch, seq, in]. */
static pl_value *linear(bert *r, const char *name, pl_value *x, int64_t in, int64_t out)
{
    pl_value *w = weight(r, pl_builder_fmt(r->b, "%s.weight", name), out, in);
    pl_value *c = vector(r, pl_builder_fmt(r->b, "%s.bias", name), out, "zeros");
    return PL_ADD(r->b, &pl_op_add, "bso,o->bso",
                  PL_ADD_AS(r->b, &pl_op_einsum, name, "bsi,oi->bso", x, w), c);
}

/* The same into heads, [batch, seq, heads, hidden / heads]. */
static pl_value *into_heads(bert *r, const char *name, pl_value *x)
{
    pl_builder *b = r->b;
    pl_value *w = weight(r, pl_builder_fmt(b, "%s.weight", name), r->hidden, r->hidden);
    pl_value *c = vector(r, pl_builder_fmt(b, "%s.bias", name), r->hidden, "zeros");
    const char *h = pl_builder_fmt(b, "h=%lld", (long long)r->heads);
    x = PL_ADD_AS(b, &pl_op_einsum, name, pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", h), x, w);
    return PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bshd,(hd)->bshd; %s", h), x, c);
}

static pl_value *attention(bert *r, pl_value *x)
{
    pl_builder *b = r->b;
    pl_value *q = into_heads(r, "attention.self.query", x);
    pl_value *k = into_heads(r, "attention.self.key", x);
    pl_value *v = into_heads(r, "attention.self.value", x);
    const char *scale =
        pl_builder_fmt(b, "; scale=%.17g", 1 / sqrt((double)(r->hidden / r->heads)));
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, "attention.self.scores", "bqhd,bkhd->bhqk", q, k);
    p = drop(r, PL_ADD_AS(b, &pl_op_softmax, "attention.self.softmax", scale, p));
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "attention.self.mix", "bhqk,bkhd->bqhd", p, v);
    pl_value *w = weight(r, "attention.output.dense.weight", r->hidden, r->hidden);
    pl_value *c = vector(r, "attention.output.dense.bias", r->hidden, "zeros");
    y = PL_ADD_AS(b, &pl_op_einsum, "attention.output.dense",
                  pl_builder_fmt(b, "bshd,m(hd)->bsm; h=%lld", (long long)r->heads), y, w);
    return drop(r, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

static pl_value *block(bert *r, pl_value *x)
{
    pl_builder *b = r->b;
    x = norm(r, "attention.output.LayerNorm", PL_ADD(b, &pl_op_add, NULL, x, attention(r, x)));
    pl_value *y = linear(r, "intermediate.dense", x, r->hidden, r->ffn);
    y = pl_act_add(b, r->act, "intermediate", y);
    y = drop(r, linear(r, "output.dense", y, r->ffn, r->hidden));
    return norm(r, "output.LayerNorm", PL_ADD(b, &pl_op_add, NULL, x, y));
}

static pl_value *embed(bert *r, pl_value *words, pl_value *tokens, const pl_model_args *a)
{
    pl_builder *b = r->b;
    pl_value *places =
        weight(r, "position_embeddings.weight", pl_model_int(a, "positions"), r->hidden);
    int64_t types = pl_model_int(a, "types");
    pl_value *type = weight(r, "token_type_embeddings.weight", types, r->hidden);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "words", "vm,bs->bsm", words, tokens);
    const char *rows =
        pl_builder_fmt(b, "vm->um; at=%lld u=%lld", (long long)r->padding, (long long)r->seq);
    if (r->padding || r->seq < pl_model_int(a, "positions"))
        places = PL_ADD_AS(b, &pl_op_slice, "places", rows, places);
    if (types > 1) type = PL_ADD_AS(b, &pl_op_slice, "type", "vm->um; u=1", type);
    x = PL_ADD(b, &pl_op_add, "bsm,sm->bsm", x, places);
    x = PL_ADD(b, &pl_op_add, "bsm,m->bsm", x, PL_ADD(b, &pl_op_reshape, "um->m", type));
    return drop(r, norm(r, "LayerNorm", x));
}

/* What each token is, from the table of the input. */
static pl_value *fill_in(bert *r, pl_value *x, pl_value *words, int64_t vocab)
{
    pl_builder *b = r->b;
    x = linear(r, r->kind->dense, x, r->hidden, r->hidden);
    x = norm(r, r->kind->norm, pl_act_add(b, r->kind->act ? r->kind->act : r->act, NULL, x));
    x = PL_ADD_AS(b, &pl_op_einsum, "scores", "bsm,vm->bsv", x, words);
    return PL_ADD(b, &pl_op_add, "bsv,v->bsv", x, vector(r, r->kind->bias, vocab, "zeros"));
}

static void check_sizes(const bert *r, const pl_model_args *a)
{
    pl_err *err = &r->b->err;
    long long classes = (long long)pl_model_int(a, "classes"),
              vocab = (long long)pl_model_int(a, "vocab"),
              positions = (long long)pl_model_int(a, "positions"),
              needed = (long long)(r->seq + r->padding);
    if (r->hidden % r->heads)
        pl_err_set(err, PL_EINPUT, "%s: hidden=%lld does not divide into heads=%lld", a->spec,
                   (long long)r->hidden, (long long)r->heads);
    if (needed > positions)
        pl_err_set(err, PL_EINPUT, "%s: seq=%lld and %lld rows for padding need positions=%lld",
                   a->spec, (long long)r->seq, (long long)r->padding, needed);
    if (classes > vocab)
        pl_err_set(err, PL_EINPUT,
                   "%s: classes=%lld are more than vocab=%lld: targets are tokens or fewer",
                   a->spec, classes, vocab);
    if (r->dropout >= 1)
        pl_err_set(err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, r->dropout);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode, const naming *kind)
{
    int64_t vocab = pl_model_int(a, "vocab"), classes = pl_model_int(a, "classes");
    bert r = { .b = b,
               .kind = kind,
               .eps = pl_builder_fmt(b, "; eps=%.9g", pl_model_real(a, "eps")),
               .act = pl_model_word(a, "act"),
               .padding = kind->padded ? pl_model_int(a, "pad") + 1 : 0,
               .seq = pl_model_int(a, "seq"),
               .hidden = pl_model_int(a, "hidden"),
               .ffn = pl_model_int(a, "ffn"),
               .heads = pl_model_int(a, "heads"),
               .dropout = pl_model_real(a, "dropout") };
    check_sizes(&r, a);
    if (b->err.code) return;
    pl_value *x = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(pl_model_int(a, "batch"), r.seq));
    if (mode == PL_TRAIN && r.dropout > 0) r.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    b->scope = pl_builder_fmt(b, "%sembeddings.", kind->prefix);
    pl_value *words = weight(&r, "word_embeddings.weight", vocab, r.hidden);
    x = embed(&r, words, x, a);
    for (int64_t i = 0; i < pl_model_int(a, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "%sencoder.layer.%lld.", kind->prefix, (long long)i);
        x = block(&r, x);
    }
    b->scope = "";
    x = classes ? linear(&r, "classifier", drop(&r, x), r.hidden, classes)
                : fill_in(&r, x, words, vocab);
    pl_model_finish(b, mode, x, "targets");
}

static void build_bert(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    build(b, a, mode, &of_bert);
}

static void build_roberta(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    build(b, a, mode, &of_roberta);
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "ffn", "3072", 1, "width inside the feed-forward layer" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "vocab", "30522", 2, "tokens (bytes need 256)" },
    { "positions", "512", 1, "rows of their table: seq, and RoBERTa's up to pad" },
    { "types", "2", 1, "rows of the table of a token's type; the first is read" },
    { "classes", "0", 0, "of a token (bytes need 256); 0: tokens, by the table of the input" },
    { "act", "gelu", 0, "of the feed-forward layer", PL_ACT_WORDS },
    { "pad", "1", 0, "RoBERTa's token of padding: the first position has the row after it" },
    { "eps", "0.000000000001", 0, "of the norms" },
    { "seq", "512", 1, "positions per row" },
    { "batch", "1", 1, "rows per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, attention, both residuals and the classifier's input" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define ROBERTA "vocab=50265,positions=514,types=1,eps=0.00001"

const pl_model pl_models_bert[] = {
    { "bert-base", "BERT base, an encoder that fills in tokens, 109.5M", NULL, "text", keys,
      build_bert },
    { "bert-large", "BERT large, 335M", "layers=24,hidden=1024,ffn=4096,heads=16", "text", keys,
      build_bert },
    { "roberta-base", "RoBERTa base, with a head that tells each token's class, 124M",
      ROBERTA ",classes=256", "text", keys, build_roberta },
    { "roberta-large", "RoBERTa large, that fills in tokens, 355M",
      ROBERTA ",layers=24,hidden=1024,ffn=4096,heads=16", "text", keys, build_roberta },
    { 0 },
};
