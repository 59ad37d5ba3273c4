/* RoBERTa: an encoder of L blocks, x = norm(x + attention(x)), x = norm(x + mlp(x)), in which every
 * token sees all others. Positions are learned; the first two rows of their table are for padding,
 * which this reads none of.
 *
 * In place of the head that was trained to fill in masked tokens stands the smallest that has a
 * loss: a linear layer that tells the class of each token.
 * Source: Liu et al., "RoBERTa: a robustly optimized BERT pretraining approach", 2019; Devlin et
 * al., "BERT", 2019; sizes, names of the weights, which are [out, in], initial values and places of
 * dropout as in the published checkpoint and code. */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

enum { PADDING = 2 }; /* rows of the table of positions */

typedef struct roberta {
    pl_builder *b;
    int64_t seq, hidden, ffn, heads;
    double dropout;
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} roberta;

static pl_value *weight(roberta *r, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(r->b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", true);
}

static pl_value *vector(roberta *r, const char *name, int64_t n, const char *init)
{
    return pl_add_state(r->b, name, PL_F32, PL_SHAPE(n), init, true);
}

static pl_value *drop(roberta *r, pl_value *x)
{
    if (!r->seed) return x;
    const char *spec = pl_builder_fmt(r->b, "; p=%.17g stream=%d", r->dropout, ++r->n_dropouts);
    return PL_ADD(r->b, &pl_op_dropout, spec, x, r->seed);
}

static pl_value *norm(roberta *r, const char *name, pl_value *x)
{
    pl_value *scale = vector(r, pl_builder_fmt(r->b, "%s.weight", name), r->hidden, "ones");
    pl_value *bias = vector(r, pl_builder_fmt(r->b, "%s.bias", name), r->hidden, "zeros");
    pl_value *sum = PL_ADD(r->b, &pl_op_layer_norm_sum, NULL, x);
    pl_value *deviation = PL_ADD(r->b, &pl_op_layer_norm_deviation, NULL, x, sum);
    return PL_ADD_AS(r->b, &pl_op_layer_norm, name, NULL, x, sum, deviation, scale, bias);
}

/* y = x w^T + c over the last dimension of x [batch, seq, in]. */
static pl_value *linear(roberta *r, const char *name, pl_value *x, int64_t in, int64_t out)
{
    pl_value *w = weight(r, pl_builder_fmt(r->b, "%s.weight", name), out, in);
    pl_value *c = vector(r, pl_builder_fmt(r->b, "%s.bias", name), out, "zeros");
    return PL_ADD(r->b, &pl_op_add, "bso,o->bso",
                  PL_ADD_AS(r->b, &pl_op_einsum, name, "bsi,oi->bso", x, w), c);
}

/* The same into heads, [batch, seq, heads, hidden / heads]. */
static pl_value *into_heads(roberta *r, const char *name, pl_value *x)
{
    pl_builder *b = r->b;
    pl_value *w = weight(r, pl_builder_fmt(b, "%s.weight", name), r->hidden, r->hidden);
    pl_value *c = vector(r, pl_builder_fmt(b, "%s.bias", name), r->hidden, "zeros");
    const char *h = pl_builder_fmt(b, "h=%lld", (long long)r->heads);
    x = PL_ADD_AS(b, &pl_op_einsum, name, pl_builder_fmt(b, "bsm,(hd)m->bshd; %s", h), x, w);
    return PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bshd,(hd)->bshd; %s", h), x, c);
}

static pl_value *attention(roberta *r, pl_value *x)
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

static pl_value *block(roberta *r, pl_value *x)
{
    pl_builder *b = r->b;
    x = norm(r, "attention.output.LayerNorm", PL_ADD(b, &pl_op_add, NULL, x, attention(r, x)));
    pl_value *y = linear(r, "intermediate.dense", x, r->hidden, r->ffn);
    y = PL_ADD_AS(b, &pl_op_gelu, "intermediate.gelu", "; tanh=0", y);
    y = drop(r, linear(r, "output.dense", y, r->ffn, r->hidden));
    return norm(r, "output.LayerNorm", PL_ADD(b, &pl_op_add, NULL, x, y));
}

static pl_value *embed(roberta *r, pl_value *tokens, int64_t vocab, int64_t positions)
{
    pl_builder *b = r->b;
    b->scope = "embeddings.";
    pl_value *words = weight(r, "word_embeddings.weight", vocab, r->hidden);
    pl_value *places = weight(r, "position_embeddings.weight", positions, r->hidden);
    pl_value *type = weight(r, "token_type_embeddings.weight", 1, r->hidden);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "words", "vm,bs->bsm", words, tokens);
    const char *rows = pl_builder_fmt(b, "vm->um; at=%d u=%lld", PADDING, (long long)r->seq);
    places = PL_ADD_AS(b, &pl_op_slice, "places", rows, places);
    x = PL_ADD(b, &pl_op_add, "bsm,sm->bsm", x, places);
    x = PL_ADD(b, &pl_op_add, "bsm,m->bsm", x, PL_ADD(b, &pl_op_reshape, "um->m", type));
    x = drop(r, norm(r, "LayerNorm", x));
    b->scope = "";
    return x;
}

static void check_sizes(const roberta *r, const pl_model_args *a)
{
    pl_err *err = &r->b->err;
    long long classes = (long long)pl_model_int(a, "classes"),
              vocab = (long long)pl_model_int(a, "vocab"),
              positions = (long long)pl_model_int(a, "positions");
    if (r->hidden % r->heads)
        pl_err_set(err, PL_EINPUT, "%s: hidden=%lld does not divide into heads=%lld", a->spec,
                   (long long)r->hidden, (long long)r->heads);
    if (r->seq + PADDING > positions)
        pl_err_set(err, PL_EINPUT, "%s: seq=%lld and %d rows for padding need positions=%lld",
                   a->spec, (long long)r->seq, PADDING, (long long)r->seq + PADDING);
    if (classes > vocab)
        pl_err_set(err, PL_EINPUT,
                   "%s: classes=%lld are more than vocab=%lld: targets are tokens or fewer",
                   a->spec, classes, vocab);
    if (r->dropout >= 1)
        pl_err_set(err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, r->dropout);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    roberta r = { .b = b,
                  .seq = pl_model_int(a, "seq"),
                  .hidden = pl_model_int(a, "hidden"),
                  .ffn = pl_model_int(a, "ffn"),
                  .heads = pl_model_int(a, "heads"),
                  .dropout = pl_model_real(a, "dropout") };
    check_sizes(&r, a);
    if (b->err.code) return;
    pl_value *x = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(pl_model_int(a, "batch"), r.seq));
    if (mode == PL_TRAIN && r.dropout > 0) r.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    x = embed(&r, x, pl_model_int(a, "vocab"), pl_model_int(a, "positions"));
    for (int64_t i = 0; i < pl_model_int(a, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "encoder.layer.%lld.", (long long)i);
        x = block(&r, x);
    }
    b->scope = "";
    x = linear(&r, "classifier", drop(&r, x), r.hidden, pl_model_int(a, "classes"));
    pl_model_finish(b, mode, x, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "ffn", "3072", 1, "width inside the feed-forward layer" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "vocab", "50265", 2, "tokens (bytes need 256)" },
    { "positions", "514", 3, "rows of their table: seq and two" },
    { "classes", "256", 2, "of a token (bytes need 256)" },
    { "seq", "512", 1, "positions per row" },
    { "batch", "1", 1, "rows per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, attention, both residuals and the classifier's input" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_model_roberta_base = {
    "roberta-base", "RoBERTa base, an encoder that tells each token's class, 124M",
    NULL,           "text",
    keys,           build
};
