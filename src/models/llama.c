/* LLaMA: a decoder of L blocks, x += attention(norm(x)), x += mlp(norm(x)), with RMS norms, rotary
 * positions, queries in groups that share a key and a value head, a gated feed-forward layer
 * (SwiGLU) and an output table of its own.
 * Source: Touvron et al., LLaMA, 2023; Grattafiori et al., "The Llama 3 herd of models", 2024
 * (sizes, base of the rotation); Ainslie et al., GQA, 2023. Names of the weights, which are
 * [out, in], and eps as in the published checkpoints; all start with std 0.02. */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

typedef struct llama {
    pl_builder *b;
    int64_t batch, seq, hidden, heads, groups, ffn, vocab;
    const char *sizes;  /* of the factors g, r: "g=2 r=4"     */
    const char *rotate; /* spec of a rope, but for its letters */
} llama;

static pl_value *weight(llama *l, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(l->b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", true);
}

static pl_value *norm(llama *l, const char *name, pl_value *x)
{
    pl_value *scale = pl_add_state(l->b, pl_builder_fmt(l->b, "%s.weight", name), PL_F32,
                                   PL_SHAPE(l->hidden), "ones", true);
    return PL_ADD_AS(l->b, &pl_op_rms_norm, name, "; eps=1e-5", x, scale);
}

/* y = x w^T, named after its weight [rows, columns]; `letters` are those of both operands. */
static pl_value *linear(llama *l, const char *name, const char *letters, int64_t rows,
                        int64_t columns, pl_value *x)
{
    pl_value *w = weight(l, pl_builder_fmt(l->b, "%s.weight", name), rows, columns);
    return PL_ADD_AS(l->b, &pl_op_einsum, name, letters, x, w);
}

/* Head (g r) of the queries is the r-th of those that read head g of the keys. */
static pl_value *attention(llama *l, pl_value *x)
{
    pl_builder *b = l->b;
    int64_t d = l->hidden / l->heads;
    const char *heads = pl_builder_fmt(b, "bsm,(grd)m->bsgrd; %s", l->sizes);
    const char *shared = pl_builder_fmt(b, "bsm,(gd)m->bsgd; g=%lld", (long long)l->groups);
    pl_value *q = linear(l, "self_attn.q_proj", heads, l->hidden, l->hidden, x);
    pl_value *k = linear(l, "self_attn.k_proj", shared, l->groups * d, l->hidden, x);
    pl_value *v = linear(l, "self_attn.v_proj", shared, l->groups * d, l->hidden, x);
    q = PL_ADD_AS(b, &pl_op_rope, "self_attn.rope_q",
                  pl_builder_fmt(b, "bsgrd->bsgrd; %s", l->rotate), q);
    k = PL_ADD_AS(b, &pl_op_rope, "self_attn.rope_k",
                  pl_builder_fmt(b, "bsgd->bsgd; %s", l->rotate), k);
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, "self_attn.scores", "bqgrd,bkgd->bgrqk", q, k);
    const char *mask = pl_builder_fmt(b, "; scale=%.17g causal=1", 1 / sqrt((double)d));
    p = PL_ADD_AS(b, &pl_op_softmax, "self_attn.softmax", mask, p);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "self_attn.mix", "bgrqk,bkgd->bqgrd", p, v);
    return linear(l, "self_attn.o_proj", pl_builder_fmt(b, "bsgrd,m(grd)->bsm; %s", l->sizes),
                  l->hidden, l->hidden, y);
}

static pl_value *mlp(llama *l, pl_value *x)
{
    pl_builder *b = l->b;
    pl_value *gate = linear(l, "mlp.gate_proj", "bsm,fm->bsf", l->ffn, l->hidden, x);
    pl_value *up = linear(l, "mlp.up_proj", "bsm,fm->bsf", l->ffn, l->hidden, x);
    gate = PL_ADD_AS(b, &pl_op_silu, "mlp.silu", NULL, gate);
    pl_value *y = PL_ADD_AS(b, &pl_op_mul, "mlp.gated", NULL, gate, up);
    return linear(l, "mlp.down_proj", "bsf,mf->bsm", l->hidden, l->ffn, y);
}

/* What the ranges of the keys do not say. */
static void check_sizes(const llama *l, const char *spec)
{
    if (l->hidden % l->heads || l->hidden / l->heads % 2)
        pl_err_set(&l->b->err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld of an even width: make it a "
                   "multiple of %lld",
                   spec, (long long)l->hidden, (long long)l->heads, (long long)(2 * l->heads));
    if (l->heads % l->groups)
        pl_err_set(
            &l->b->err, PL_EINPUT,
            "%s: heads=%lld does not divide into kv=%lld groups, each with a key and a value "
            "head",
            spec, (long long)l->heads, (long long)l->groups);
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    llama l = { .b = b,
                .batch = pl_model_int(a, "batch"),
                .seq = pl_model_int(a, "seq"),
                .hidden = pl_model_int(a, "hidden"),
                .heads = pl_model_int(a, "heads"),
                .groups = pl_model_int(a, "kv"),
                .ffn = pl_model_int(a, "ffn"),
                .vocab = pl_model_int(a, "vocab") };
    check_sizes(&l, a->spec);
    l.sizes =
        pl_builder_fmt(b, "g=%lld r=%lld", (long long)l.groups, (long long)(l.heads / l.groups));
    l.rotate = pl_builder_fmt(b, "base=%lld", (long long)pl_model_int(a, "base"));
    pl_value *tokens = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(l.batch, l.seq));
    pl_value *table = weight(&l, "model.embed_tokens.weight", l.vocab, l.hidden);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "model.embed_tokens", "vm,bs->bsm", table, tokens);
    for (int64_t i = 0; i < pl_model_int(a, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "model.layers.%lld.", (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&l, norm(&l, "input_layernorm", x)));
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(&l, norm(&l, "post_attention_layernorm", x)));
    }
    b->scope = "";
    x = norm(&l, "model.norm", x);
    x = linear(&l, "lm_head", "bsm,vm->bsv", l.vocab, l.hidden, x);
    pl_model_finish(b, mode, x, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "4", 1, "blocks" },
    { "hidden", "256", 2, "width of the residual stream" },
    { "heads", "8", 1, "query heads; hidden is a multiple of twice as many" },
    { "kv", "2", 1, "key and value heads; divides heads" },
    { "ffn", "704", 1, "width inside the feed-forward layer" },
    { "vocab", "256", 2, "tokens (bytes need 256)" },
    { "base", "10000", 2, "of the rotary positions" },
    { "seq", "256", 1, "context: positions per row" },
    { "batch", "8", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_model_llama = { "llama", "LLaMA, a small one over bytes, 3M", NULL, "text", keys,
                                  build };
const pl_model pl_model_llama3_8b = {
    "llama3-8b",
    "Llama 3, 8030M",
    "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=128256,base=500000,seq=8192,batch=1",
    "text",
    keys,
    build,
};
const pl_model pl_model_llama3_70b = {
    "llama3-70b",
    "Llama 3, 70554M",
    "layers=80,hidden=8192,heads=64,kv=8,ffn=28672,vocab=128256,base=500000,seq=8192,batch=1",
    "text",
    keys,
    build,
};
