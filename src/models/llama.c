/* LLaMA: a decoder of L blocks, x += attention(norm(x)), x += mlp(norm(x)), with RMS norms, rotary
 * positions, queries in groups that share a key and a value head, a gated feed-forward layer
 * (SwiGLU) and an output table of its own. Keys make of it its relatives: Mistral, Qwen2 (biases of
 * queries, keys and values), Qwen3 (these two are normed), Mixtral (a router gives each token to k
 * experts, each such a feed-forward layer).
 *
 * A layer's experts are one weight, [experts, out, in], where checkpoints have one for each expert
 * ("experts.3.w1.weight" is row 3 of "experts.w1.weight"). Mixtral has room for all tokens that
 * choose an expert; here there is room for `capacity` times the mean, and what comes later passes
 * by on the residual: capacity=experts/k leaves none out.
 * Source: Touvron et al., LLaMA, 2023; Touvron et al., Llama 2, 2023; Grattafiori et al., "The
 * Llama 3 herd of models", 2024; Jiang et al., "Mistral 7B", 2023, and "Mixtral of experts", 2024;
 * Yang et al., Qwen2, 2024, and Qwen3, 2025; Ainslie et al., GQA, 2023. Names of the weights, which
 * are [out, in], and eps as in the published checkpoints; all start with std 0.02. */
#include "models/models.h"
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

typedef struct llama {
    pl_builder *b;
    int64_t batch, seq, hidden, heads, groups, head, ffn, vocab, bias, experts;
    bool normed;        /* queries and keys                    */
    const char *sizes;  /* of the factors g, r: "g=2 r=4"      */
    const char *rotate; /* spec of a rope, but for its letters */
    const char *eps;    /* spec of a norm, but for its letters */
    pl_routed routed;   /* experts above 0                     */
} llama;

static pl_value *weight(llama *l, const char *name, int64_t rows, int64_t columns)
{
    return pl_add_state(l->b, name, PL_F32, PL_SHAPE(rows, columns), "normal std=0.02", true);
}

/* Of the last `width` numbers; `letters` are those of both operands and outputs. */
static pl_value *norm_of(llama *l, const char *name, const char *letters, int64_t width,
                         pl_value *x)
{
    pl_value *scale = pl_add_state(l->b, pl_builder_fmt(l->b, "%s.weight", name), PL_F32,
                                   PL_SHAPE(width), "ones", true);
    return PL_ADD_AS(l->b, &pl_op_rms_norm, name, pl_builder_fmt(l->b, "%s; %s", letters, l->eps),
                     x, scale);
}

static pl_value *norm(llama *l, const char *name, pl_value *x)
{
    return norm_of(l, name, "", l->hidden, x);
}

/* y = x w^T, named after its weight [rows, columns]; `letters` are those of both operands. */
static pl_value *linear(llama *l, const char *name, const char *letters, int64_t rows,
                        int64_t columns, pl_value *x)
{
    pl_value *w = weight(l, pl_builder_fmt(l->b, "%s.weight", name), rows, columns);
    return PL_ADD_AS(l->b, &pl_op_einsum, name, letters, x, w);
}

/* x and a bias [columns] of its own, if the layer has one. */
static pl_value *biased(llama *l, const char *name, const char *letters, int64_t columns, bool has,
                        pl_value *x)
{
    if (!has) return x;
    pl_value *c = pl_add_state(l->b, pl_builder_fmt(l->b, "%s.bias", name), PL_F32,
                               PL_SHAPE(columns), "zeros", true);
    return PL_ADD(l->b, &pl_op_add, letters, x, c);
}

/* Of x [b, s, hidden] what the scores read, with rotary positions: [b, s, g, r, d], or without r
 * when `one`, a head for all queries of a group. */
static pl_value *project(llama *l, const char *what, bool one, bool rotated, pl_value *x)
{
    pl_builder *b = l->b;
    const char *name = pl_builder_fmt(b, "self_attn.%s_proj", what), *h = one ? "gd" : "grd";
    const char *sizes = one ? pl_builder_fmt(b, "g=%lld", (long long)l->groups) : l->sizes;
    int64_t rows = (one ? l->groups : l->heads) * l->head;
    x = linear(l, name, pl_builder_fmt(b, "bsm,(%s)m->bs%s; %s", h, h, sizes), rows, l->hidden, x);
    x = biased(l, name, pl_builder_fmt(b, "bs%s,(%s)->bs%s; %s", h, h, h, sizes), rows, l->bias > 0,
               x);
    if (!rotated) return x;
    if (l->normed)
        x = norm_of(l, pl_builder_fmt(b, "self_attn.%s_norm", what),
                    one ? "bsgh,h->bsgh,bsg" : "bsgrh,h->bsgrh,bsgr", l->head, x);
    return PL_ADD_AS(b, &pl_op_rope, pl_builder_fmt(b, "self_attn.rope_%s", what),
                     pl_builder_fmt(b, "bs%s->bs%s; %s", h, h, l->rotate), x);
}

/* Head (g r) of the queries is the r-th of those that read head g of the keys. */
static pl_value *attention(llama *l, pl_value *x)
{
    pl_builder *b = l->b;
    pl_value *q = project(l, "q", false, true, x), *k = project(l, "k", true, true, x);
    pl_value *v = project(l, "v", true, false, x);
    pl_value *p = PL_ADD_AS(b, &pl_op_einsum, "self_attn.scores", "bqgrd,bkgd->bgrqk", q, k);
    const char *mask = pl_builder_fmt(b, "; scale=%.17g causal=1", 1 / sqrt((double)l->head));
    p = PL_ADD_AS(b, &pl_op_softmax, "self_attn.softmax", mask, p);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "self_attn.mix", "bgrqk,bkgd->bqgrd", p, v);
    y = linear(l, "self_attn.o_proj", pl_builder_fmt(b, "bsgrd,m(grd)->bsm; %s", l->sizes),
               l->hidden, l->heads * l->head, y);
    return biased(l, "self_attn.o_proj", "bsm,m->bsm", l->hidden, l->bias > 1, y);
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

/* The same layer of every expert, on its slots x [g, e, slot, in]; weights [e, out, in]. */
static pl_value *expert_linear(llama *l, const char *name, const char *letters, int64_t rows,
                               int64_t columns, pl_value *x)
{
    pl_value *w = pl_add_state(l->b, pl_builder_fmt(l->b, "experts.%s.weight", name), PL_F32,
                               PL_SHAPE(l->experts, rows, columns), "normal std=0.02", true);
    return PL_ADD_AS(l->b, &pl_op_einsum, pl_builder_fmt(l->b, "experts.%s", name), letters, x, w);
}

static pl_value *experts(llama *l, pl_value *x)
{
    pl_builder *b = l->b;
    const char *scope = b->scope;
    b->scope = pl_builder_fmt(b, "%sblock_sparse_moe.", scope);
    pl_value *y = linear(l, "gate", "gth,eh->gte", l->experts, l->hidden, x);
    y = pl_routed_send(&l->routed, y, x);
    pl_value *gate = expert_linear(l, "w1", "gecm,efm->gecf", l->ffn, l->hidden, y);
    pl_value *up = expert_linear(l, "w3", "gecm,efm->gecf", l->ffn, l->hidden, y);
    gate = PL_ADD_AS(b, &pl_op_silu, "experts.silu", NULL, gate);
    y = PL_ADD_AS(b, &pl_op_mul, "experts.gated", NULL, gate, up);
    y = expert_linear(l, "w2", "gecf,emf->gecm", l->hidden, l->ffn, y);
    y = pl_routed_return(&l->routed, y);
    b->scope = scope;
    return y;
}

/* What the ranges of the keys do not say. */
static void check_sizes(const llama *l, const pl_model_args *a)
{
    pl_err *err = &l->b->err;
    long long window = (long long)pl_model_int(a, "window");
    if (!pl_model_int(a, "head") && (l->hidden % l->heads || l->head % 2))
        pl_err_set(err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld of an even width: make it a "
                   "multiple of %lld, or give head",
                   a->spec, (long long)l->hidden, (long long)l->heads, (long long)(2 * l->heads));
    if (l->head % 2)
        pl_err_set(err, PL_EINPUT, "%s: head=%lld is odd: rotary positions turn pairs", a->spec,
                   (long long)l->head);
    if (l->heads % l->groups)
        pl_err_set(
            err, PL_EINPUT,
            "%s: heads=%lld does not divide into kv=%lld groups, each with a key and a value "
            "head",
            a->spec, (long long)l->heads, (long long)l->groups);
    if (l->bias > 2)
        pl_err_set(err, PL_EINPUT, "%s: bias=%lld is not 0, 1 or 2", a->spec, (long long)l->bias);
    if (window && window < l->seq)
        pl_err_set(err, PL_EUNSUPPORTED,
                   "%s: attention within a window of window=%lld positions is not there: give at "
                   "most seq=%lld, or window=0 for attention to all",
                   a->spec, window, window);
}

static llama read_args(pl_builder *b, const pl_model_args *a)
{
    llama l = { .b = b,
                .batch = pl_model_int(a, "batch"),
                .seq = pl_model_int(a, "seq"),
                .hidden = pl_model_int(a, "hidden"),
                .heads = pl_model_int(a, "heads"),
                .groups = pl_model_int(a, "kv"),
                .head = pl_model_int(a, "head"),
                .ffn = pl_model_int(a, "ffn"),
                .vocab = pl_model_int(a, "vocab"),
                .bias = pl_model_int(a, "bias"),
                .normed = pl_model_int(a, "qknorm"),
                .experts = pl_model_int(a, "experts") };
    if (!l.head) l.head = l.hidden / l.heads;
    check_sizes(&l, a);
    if (l.experts)
        l.routed = pl_routed_new(b, a->spec, l.experts, pl_model_int(a, "k"), l.seq,
                                 pl_model_real(a, "capacity"));
    l.routed.even = true;
    l.sizes =
        pl_builder_fmt(b, "g=%lld r=%lld", (long long)l.groups, (long long)(l.heads / l.groups));
    l.rotate = pl_builder_fmt(b, "base=%lld", (long long)pl_model_int(a, "base"));
    l.eps = pl_builder_fmt(b, "eps=%.9g", pl_model_real(a, "eps"));
    return l;
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    llama l = read_args(b, a);
    pl_value *tokens = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(l.batch, l.seq));
    pl_value *table = weight(&l, "model.embed_tokens.weight", l.vocab, l.hidden);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "model.embed_tokens", "vm,bs->bsm", table, tokens);
    for (int64_t i = 0; i < pl_model_int(a, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "model.layers.%lld.", (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&l, norm(&l, "input_layernorm", x)));
        pl_value *y = norm(&l, "post_attention_layernorm", x);
        x = PL_ADD(b, &pl_op_add, NULL, x, l.experts ? experts(&l, y) : mlp(&l, y));
    }
    b->scope = "";
    x = norm(&l, "model.norm", x);
    if (!pl_model_int(a, "tied")) table = weight(&l, "lm_head.weight", l.vocab, l.hidden);
    x = PL_ADD_AS(b, &pl_op_einsum, "lm_head", "bsm,vm->bsv", x, table);
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
    { "head", "0", 0, "width of a head, even; 0: hidden / heads" },
    { "eps", "0.00001", 0, "of the norms" },
    { "bias", "0", 0, "1: of queries, keys and values (Qwen2); 2: of all of the attention" },
    { "qknorm", "0", 0, "1: queries and keys are normed (Qwen3)" },
    { "tied", "0", 0, "1: the output reads the table of the input" },
    { "window", "0", 0, "positions that one attends to; 0: all; not below seq" },
    { "experts", "0", 0, "of a layer (Mixtral); 0: the layer is not routed" },
    { "k", "2", 1, "experts of a token" },
    { "capacity", "1.25", 0, "slots of the experts by choices of the tokens of a row" },
    { "seq", "256", 1, "context: positions per row" },
    { "batch", "8", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define SIZE(name, about, sizes)                                                                   \
    {                                                                                              \
        name, about, sizes ",batch=1", "text", keys, build                                         \
    }
#define QWEN2 ",base=1000000,eps=0.000001,bias=1,seq=8192"

const pl_model pl_models_llama[] = {
    { "llama", "LLaMA, a small one over bytes, 3M", NULL, "text", keys, build },
    SIZE("llama2-7b", "Llama 2, 6738M",
         "layers=32,hidden=4096,heads=32,kv=32,ffn=11008,vocab=32000,seq=4096"),
    SIZE("llama2-13b", "Llama 2, 13016M",
         "layers=40,hidden=5120,heads=40,kv=40,ffn=13824,vocab=32000,seq=4096"),
    SIZE("llama2-70b", "Llama 2, 68977M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=28672,vocab=32000,seq=4096"),
    SIZE("llama3-8b", "Llama 3, 8030M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=128256,base=500000,seq=8192"),
    SIZE("llama3-70b", "Llama 3, 70554M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=28672,vocab=128256,base=500000,seq=8192"),
    SIZE("llama3-405b", "Llama 3, 405853M",
         "layers=126,hidden=16384,heads=128,kv=8,ffn=53248,vocab=128256,base=500000,seq=8192"),
    SIZE("mistral-7b", "Mistral 7B, 7242M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,window=4096,seq=4096"),
    SIZE("mixtral-8x7b", "Mixtral 8x7B, 46703M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,base=1000000,experts=8,seq="
         "4096"),
    SIZE("qwen2-0.5b", "Qwen2, 494M",
         "layers=24,hidden=896,heads=14,kv=2,ffn=4864,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2-1.5b", "Qwen2, 1544M",
         "layers=28,hidden=1536,heads=12,kv=2,ffn=8960,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2-7b", "Qwen2, 7616M",
         "layers=28,hidden=3584,heads=28,kv=4,ffn=18944,vocab=152064" QWEN2),
    SIZE("qwen2-72b", "Qwen2, 72706M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=29568,vocab=152064" QWEN2),
    { 0 },
};
