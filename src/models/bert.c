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
#include "models/layers.h"
#include "models/list.h"
#include "ops/list.h"

#include <math.h>

/* How the two differ, besides their keys. */
typedef struct naming {
    const char *prefix;              /* of the encoder's weights                      */
    bool padded;                     /* the table of positions has such rows          */
    const char *dense, *norm, *bias; /* layers of the head for masked tokens          */
    const char *act;                 /* of that head; NULL: that of the blocks        */
} naming;

static const naming of_bert = { "bert.",
                                false,
                                "cls.predictions.transform.dense",
                                "cls.predictions.transform.LayerNorm",
                                "cls.predictions",
                                NULL };
static const naming of_roberta = { "roberta.",           true,      "lm_head.dense",
                                   "lm_head.layer_norm", "lm_head", "gelu" };

typedef struct bert {
    pl_layers l;
    const naming *kind;
    const char *act;
    int64_t padding; /* rows of the table of positions before the first   */
    int64_t seq, hidden, ffn, heads;
} bert;

/* y = x w^T + c over the last dimension of x [batch, seq, in]. */
static pl_value *linear(bert *r, const char *name, int64_t in, int64_t out, pl_value *x)
{
    x = pl_layers_linear(&r->l, name, "bsi,oi->bso", PL_SHAPE(out, in), NULL, x);
    return pl_layers_bias(&r->l, name, "bso,o->bso", PL_SHAPE(out), NULL, x);
}

static pl_value *attention(bert *r, pl_value *x)
{
    static const char *const names[] = { "attention.self.query", "attention.self.key",
                                         "attention.self.value" };
    pl_builder *b = r->l.b;
    const int64_t m = r->hidden;
    const char *h = pl_builder_fmt(b, "h=%lld", (long long)r->heads);
    const char *into = pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", h),
               *bias = pl_builder_fmt(b, "bshd,(hd)->bshd; %s", h),
               *back = pl_builder_fmt(b, "bshd,m(hd)->bsm; %s", h);
    pl_value *qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = pl_layers_linear(&r->l, names[i], into, PL_SHAPE(m, m), NULL, x);
        qkv[i] = pl_layers_bias(&r->l, names[i], bias, PL_SHAPE(m), NULL, qkv[i]);
    }
    const char *scale = pl_builder_fmt(b, "scale=%.17g", 1 / sqrt((double)(m / r->heads)));
    x = pl_layers_attend(&r->l, "attention.self", qkv, NULL, scale, true);
    x = pl_layers_linear(&r->l, "attention.output.dense", back, PL_SHAPE(m, m), NULL, x);
    x = pl_layers_bias(&r->l, "attention.output.dense", "...m,m->...m", PL_SHAPE(m), NULL, x);
    return pl_layers_drop(&r->l, x);
}

static pl_value *block(bert *r, pl_value *x)
{
    pl_builder *b = r->l.b;
    x = PL_ADD(b, &pl_op_add, NULL, x, attention(r, x));
    x = pl_layers_norm(&r->l, "attention.output.LayerNorm", x);
    pl_value *y = linear(r, "intermediate.dense", r->hidden, r->ffn, x);
    y = linear(r, "output.dense", r->ffn, r->hidden, pl_act_add(b, r->act, "intermediate", y));
    x = PL_ADD(b, &pl_op_add, NULL, x, pl_layers_drop(&r->l, y));
    return pl_layers_norm(&r->l, "output.LayerNorm", x);
}

static pl_value *embed(bert *r, pl_value *words, pl_value *tokens, const pl_model_args *args)
{
    pl_builder *b = r->l.b;
    const int64_t types = pl_model_int(args, "types"), positions = pl_model_int(args, "positions");
    pl_value *places =
        pl_layers_weight(&r->l, "position_embeddings.weight", PL_SHAPE(positions, r->hidden), NULL);
    pl_value *type =
        pl_layers_weight(&r->l, "token_type_embeddings.weight", PL_SHAPE(types, r->hidden), NULL);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "words", "vm,bs->bsm", words, tokens);
    const char *rows =
        pl_builder_fmt(b, "vm->um; at=%lld u=%lld", (long long)r->padding, (long long)r->seq);
    if (r->padding || r->seq < positions)
        places = PL_ADD_AS(b, &pl_op_slice, "places", rows, places);
    if (types > 1) type = PL_ADD_AS(b, &pl_op_slice, "type", "vm->um; u=1", type);
    x = PL_ADD(b, &pl_op_add, "bsm,sm->bsm", x, places);
    x = PL_ADD(b, &pl_op_add, "bsm,m->bsm", x, PL_ADD(b, &pl_op_reshape, "um->m", type));
    return pl_layers_drop(&r->l, pl_layers_norm(&r->l, "LayerNorm", x));
}

/* What each token is, from the table of the input. */
static pl_value *fill_in(bert *r, pl_value *x, pl_value *words, int64_t vocab)
{
    pl_builder *b = r->l.b;
    x = linear(r, r->kind->dense, r->hidden, r->hidden, x);
    x = pl_act_add(b, r->kind->act ? r->kind->act : r->act, NULL, x);
    x = pl_layers_norm(&r->l, r->kind->norm, x);
    x = PL_ADD_AS(b, &pl_op_einsum, "scores", "bsm,vm->bsv", x, words);
    return pl_layers_bias(&r->l, r->kind->bias, "bsv,v->bsv", PL_SHAPE(vocab), NULL, x);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode, const naming *kind)
{
    int64_t vocab = pl_model_int(args, "vocab"), classes = pl_model_int(args, "classes");
    bert r = { .l = pl_layers_new(b, args),
               .kind = kind,
               .act = pl_model_word(args, "act"),
               .padding = kind->padded ? pl_model_int(args, "pad") + 1 : 0,
               .seq = pl_model_int(args, "seq"),
               .hidden = pl_model_int(args, "hidden"),
               .ffn = pl_model_int(args, "ffn"),
               .heads = pl_model_int(args, "heads") };
    pl_layers_check_sizes(b, args);
    if (r.seq + r.padding > pl_model_int(args, "positions"))
        pl_err_set(&b->err, PL_EINPUT, "%s: seq=%lld and %lld rows for padding need positions=%lld",
                   args->spec, (long long)r.seq, (long long)r.padding,
                   (long long)(r.seq + r.padding));
    if (!kind->padded && pl_model_int(args, "pad") != 1)
        pl_err_set(&b->err, PL_EINPUT, "%s: pad=%lld is for roberta-base and its sizes", args->spec,
                   (long long)pl_model_int(args, "pad"));
    pl_value *x = pl_model_tokens(b, args);
    pl_layers_add_seed(&r.l, args, mode);
    b->scope = pl_builder_fmt(b, "%sembeddings.", kind->prefix);
    pl_value *words =
        pl_layers_weight(&r.l, "word_embeddings.weight", PL_SHAPE(vocab, r.hidden), NULL);
    x = embed(&r, words, x, args);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "%sencoder.layer.%lld.", kind->prefix, (long long)i);
        x = block(&r, x);
    }
    b->scope = "";
    x = classes ? linear(&r, "classifier", r.hidden, classes, pl_layers_drop(&r.l, x))
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

const pl_family pl_models_bert[] = {
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
