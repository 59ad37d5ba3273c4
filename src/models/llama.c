/* LLaMA: a decoder of L blocks, x += attention(norm(x)), x += mlp(norm(x)), with RMS norms, rotary
 * positions, queries in groups that share a key and a value head, a gated feed-forward layer
 * (SwiGLU) and an output table of its own. Keys make of it its relatives: Mistral (attention within
 * a window), Qwen2 (biases of queries, keys and values), Qwen3 (these two are normed), Phi-3 (their
 * weights are one, a part of a head turns), Gemma (scaled embeddings, norms told from 1; the second
 * caps scores and norms what a layer gives too, the third has two bases of positions), Mixtral and
 * the routed Qwens (a router gives each token to k experts: experts.c).
 *
 * Source: Touvron et al., LLaMA, 2023; Touvron et al., Llama 2, 2023; Grattafiori et al., "The
 * Llama 3 herd of models", 2024; Jiang et al., "Mistral 7B", 2023, and "Mixtral of experts", 2024;
 * Yang et al., Qwen2, 2024, and Qwen3, 2025; Ainslie et al., GQA, 2023; Abdin et al., Phi-3, 2024;
 * Gemma Team, Gemma, 2024, Gemma 2, 2024, and Gemma 3, 2025. Names of the weights, which are
 * [out, in], and eps as in the published checkpoints; all start with std 0.02. */
#include "models/act.h"
#include "models/experts.h"
#include "models/layers.h"
#include "models/list.h"
#include "models/rotary.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

typedef struct llama {
    pl_layers l;
    int64_t seq, hidden, heads, groups, head, ffn, bias;
    bool normed, fused, sandwich; /* as their keys; normed: queries and keys                     */
    bool ffn_bias;
    const char *sizes;  /* of the factors g, r: "g=2 r=4"                              */
    const char *rotate; /* spec of a rope, but for its letters: of the present layer   */
    const char *act;
    double scale, cap;         /* of the scores; cap 0: none                                  */
    int64_t window;            /* of the present layer; 0: attention to all before            */
    bool routed;               /* the present layer is                                        */
    bool shares, shares_norms; /* blocks have the same weights; the same norms too    */
    pl_experts experts;
} llama;

static pl_value *norm(llama *l, const char *name, pl_value *x)
{
    return pl_layers_rms_norm(&l->l, name, "", x);
}

static pl_value *linear(llama *l, const char *name, const char *spec, int64_t rows, int64_t columns,
                        pl_value *x)
{
    return pl_layers_linear(&l->l, name, spec, PL_SHAPE(rows, columns), NULL, x);
}

/* Of x [b, s, hidden] queries, keys or values: [b, s, g, r, d], or without r when `one`, a head for
 * all queries of a group. */
static pl_value *project(llama *l, const char *what, bool one, pl_value *x)
{
    pl_builder *b = l->l.b;
    const char *name = pl_builder_fmt(b, "self_attn.%s_proj", what), *h = one ? "gd" : "grd";
    const char *sizes = one ? pl_builder_fmt(b, "g=%lld", (long long)l->groups) : l->sizes;
    const int64_t rows = (one ? l->groups : l->heads) * l->head;
    x = linear(l, name, pl_builder_fmt(b, "bsm,(%s)m->bs%s; %s", h, h, sizes), rows, l->hidden, x);
    if (!l->bias) return x;
    const char *spec = pl_builder_fmt(b, "bs%s,(%s)->bs%s; %s", h, h, h, sizes);
    return pl_layers_bias(&l->l, name, spec, PL_SHAPE(rows), NULL, x);
}

/* The same of one weight for all three, whose rows are the queries', the keys', the values'. With a
 * key for every query they are equal parts, so that heads can be split all the way. */
static void project_fused(llama *l, pl_value *x, pl_value *out[3])
{
    pl_builder *b = l->l.b;
    const char *name = "self_attn.qkv_proj";
    int64_t rows[] = { l->heads * l->head, l->groups * l->head, l->groups * l->head };
    int64_t all = rows[0] + rows[1] + rows[2], at = 0;
    if (l->heads == l->groups) {
        const char *sizes = pl_builder_fmt(b, "v=3 g=%lld", (long long)l->groups);
        x = linear(l, name, pl_builder_fmt(b, "bsm,(vgd)m->bs(vgd); %s", sizes), all, l->hidden, x);
        pl_layers_split(&l->l, "self_attn.split",
                        pl_builder_fmt(b, "bs(vgd)->bsgd,bsgd,bsgd; %s", sizes), 3, x, out);
        out[0] = PL_ADD(b, &pl_op_reshape, "bsgd->bsgrd; r=1", out[0]);
        return;
    }
    x = linear(l, name, "bsm,om->bso", all, l->hidden, x);
    for (int i = 0; i < 3; at += rows[i++]) {
        out[i] = PL_ADD(
            b, &pl_op_slice,
            pl_builder_fmt(b, "bsv->bsu; at=%lld u=%lld", (long long)at, (long long)rows[i]), x);
        out[i] = PL_ADD(b, &pl_op_reshape,
                        i ? pl_builder_fmt(b, "bs(gd)->bsgd; g=%lld", (long long)l->groups)
                          : pl_builder_fmt(b, "bs(grd)->bsgrd; %s", l->sizes),
                        out[i]);
    }
}

/* Queries or keys with their positions, normed before where the model does that. */
static pl_value *turn(llama *l, const char *what, bool one, pl_value *x)
{
    pl_builder *b = l->l.b;
    const char *h = one ? "gd" : "grd";
    if (l->normed)
        x = pl_layers_rms_norm(&l->l, pl_builder_fmt(b, "self_attn.%s_norm", what),
                               one ? "bsgh,h->bsgh,bsg" : "bsgrh,h->bsgrh,bsgr", x);
    return PL_ADD_AS(b, &pl_op_rope, pl_builder_fmt(b, "self_attn.rope_%s", what),
                     pl_builder_fmt(b, "bs%s->bs%s; %s", h, h, l->rotate), x);
}

/* cap tanh(x / cap), but for the last product. */
static pl_value *capped(llama *l, const char *name, double cap, pl_value *x)
{
    pl_builder *b = l->l.b;
    x = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", 1 / cap), x);
    return PL_ADD_AS(b, &pl_op_tanh, name, NULL, x);
}

/* Head (g r) of the queries is the r-th of those that read head g of the keys. */
static pl_value *attention(llama *l, pl_value *x)
{
    pl_builder *b = l->l.b;
    pl_value *in[3];
    if (l->fused) project_fused(l, x, in);
    for (int i = 0; i < 3; i++) {
        const char *what = i == 0 ? "q" : i == 1 ? "k" : "v";
        if (!l->fused) in[i] = project(l, what, i > 0, x);
        if (i < 2) in[i] = turn(l, what, i > 0, in[i]);
    }
    const char *mask = pl_builder_fmt(b, "scale=%.17g causal=1", l->scale);
    if (l->cap > 0) mask = pl_builder_fmt(b, "%s cap=%.17g", mask, l->cap);
    if (l->window && l->window < l->seq)
        mask = pl_builder_fmt(b, "%s window=%lld", mask, (long long)l->window);
    x = pl_layers_attend(&l->l, "self_attn", in, NULL, mask, false);
    x = linear(l, "self_attn.o_proj", pl_builder_fmt(b, "bsgrd,m(grd)->bsm; %s", l->sizes),
               l->hidden, l->heads * l->head, x);
    if (l->bias < 2) return x;
    return pl_layers_bias(&l->l, "self_attn.o_proj", "bsm,m->bsm", PL_SHAPE(l->hidden), NULL, x);
}

static pl_value *mlp(llama *l, pl_value *x)
{
    pl_builder *b = l->l.b;
    if (!l->fused) return pl_layers_gated(&l->l, "mlp", l->act, l->ffn, l->ffn_bias, x);
    pl_value *part[2];
    x = linear(l, "mlp.gate_up_proj", "bsm,(vf)m->bs(vf); v=2", 2 * l->ffn, l->hidden, x);
    pl_layers_split(&l->l, "mlp.split", "bs(vf)->bsf,bsf; v=2", 2, x, part);
    part[0] = pl_act_add(b, l->act, "mlp", part[0]);
    x = PL_ADD_AS(b, &pl_op_mul, "mlp.gated", NULL, part[0], part[1]);
    return linear(l, "mlp.down_proj", "bsf,mf->bsm", l->hidden, l->ffn, x);
}

/* Of the layers to come: are their weights those of all blocks? */
static void share(llama *l, bool shares)
{
    l->l.shared = l->experts.l.shared = shares ? "model.layers." : NULL;
}

static pl_value *block(llama *l, pl_value *x)
{
    pl_builder *b = l->l.b;
    share(l, l->shares_norms);
    pl_value *y = norm(l, "input_layernorm", x);
    share(l, l->shares);
    y = attention(l, y);
    share(l, l->shares_norms);
    if (l->sandwich) y = norm(l, "post_attention_layernorm", y);
    x = PL_ADD(b, &pl_op_add, NULL, x, y);
    y = norm(l, l->sandwich ? "pre_feedforward_layernorm" : "post_attention_layernorm", x);
    share(l, l->shares);
    y = l->routed ? pl_experts_add(&l->experts, y) : mlp(l, y);
    share(l, l->shares_norms);
    if (l->sandwich) y = norm(l, "post_feedforward_layernorm", y);
    return PL_ADD(b, &pl_op_add, NULL, x, y);
}

/* What the ranges of the keys do not say. */
static void check_sizes(const llama *l, const pl_model_args *args)
{
    pl_err *err = &l->l.b->err;
    const char *windows = pl_model_word(args, "windows");
    if (!pl_model_int(args, "head") && (l->hidden % l->heads || l->head % 2))
        pl_err_set(err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld of an even width: make it a "
                   "multiple of %lld, or give head",
                   args->spec, (long long)l->hidden, (long long)l->heads,
                   (long long)(2 * l->heads));
    if (l->head % 2)
        pl_err_set(err, PL_EINPUT, "%s: head=%lld is odd: rotary positions turn pairs", args->spec,
                   (long long)l->head);
    if (l->heads % l->groups)
        pl_err_set(
            err, PL_EINPUT,
            "%s: heads=%lld does not divide into kv=%lld groups, each with a key and a value "
            "head",
            args->spec, (long long)l->heads, (long long)l->groups);
    if (!*windows || windows[strspn(windows, "wf")])
        pl_err_set(err, PL_EINPUT, "%s: windows=%s is not made of the letters w and f, one a layer",
                   args->spec, windows);
    if (l->fused && (l->bias || l->ffn_bias || l->experts.routed.b))
        pl_err_set(err, PL_EINPUT, "%s: fused=1 is without biases and experts", args->spec);
}

static llama read_args(pl_builder *b, const pl_model_args *args)
{
    llama l = { .l = pl_layers_new(b, args),
                .seq = pl_model_int(args, "seq"),
                .hidden = pl_model_int(args, "hidden"),
                .heads = pl_model_int(args, "heads"),
                .groups = pl_model_int(args, "kv"),
                .head = pl_model_int(args, "head"),
                .ffn = pl_model_int(args, "ffn"),
                .bias = pl_model_int(args, "bias"),
                .ffn_bias = pl_model_int(args, "ffn_bias"),
                .act = pl_model_word(args, "act"),
                .cap = pl_model_real(args, "cap"),
                .normed = pl_model_int(args, "qknorm"),
                .fused = pl_model_int(args, "fused"),
                .sandwich = pl_model_int(args, "sandwich"),
                .experts = pl_experts_new(b, args) };
    int64_t scalar = pl_model_int(args, "query_scalar");
    l.shares = strcmp(pl_model_word(args, "share"), "nothing") != 0;
    l.shares_norms = !strcmp(pl_model_word(args, "share"), "norms");
    if (!l.head) l.head = l.hidden / l.heads;
    check_sizes(&l, args);
    l.experts.shared = pl_model_int(args, "shared");
    l.experts.gated = true;
    l.l.from_one = pl_model_int(args, "from_one");
    l.sizes =
        pl_builder_fmt(b, "g=%lld r=%lld", (long long)l.groups, (long long)(l.heads / l.groups));
    l.scale = 1 / sqrt((double)(scalar ? scalar : l.head));
    return l;
}

/* Attention and positions of layer i: within the window or to all. */
static void set_layer(llama *l, const pl_model_args *args, int64_t i)
{
    const char *windows = pl_model_word(args, "windows");
    bool local = windows[i % (int64_t)strlen(windows)] == 'w' && pl_model_int(args, "window");
    long long base = (long long)pl_model_int(args, "local_base");
    l->routed = pl_experts_at(&l->experts, i);
    l->window = local ? pl_model_int(args, "window") : 0;
    l->rotate = local && base ? pl_builder_fmt(l->l.b, "base=%lld", base)
                              : pl_rotary_attrs(l->l.b, args, l->head, l->seq);
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    llama l = read_args(b, args);
    const double cap = pl_model_real(args, "logit_cap");
    const pl_shape words = PL_SHAPE(pl_model_int(args, "vocab"), l.hidden);
    pl_value *tokens = pl_model_tokens(b, args);
    pl_value *table = pl_layers_weight(&l.l, "model.embed_tokens.weight", words, NULL);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "model.embed_tokens", "vm,bs->bsm", table, tokens);
    if (pl_model_int(args, "scaled"))
        x = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", sqrt((double)l.hidden)), x);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "model.layers.%lld.", (long long)i);
        set_layer(&l, args, i);
        x = block(&l, x);
    }
    b->scope = "";
    share(&l, false);
    x = norm(&l, "model.norm", x);
    if (!pl_model_int(args, "tied")) table = pl_layers_weight(&l.l, "lm_head.weight", words, NULL);
    x = PL_ADD_AS(b, &pl_op_einsum, "lm_head", "bsm,vm->bsv", x, table);
    if (cap > 0)
        x = PL_ADD(b, &pl_op_scale, pl_builder_fmt(b, "; value=%.17g", cap),
                   capped(&l, "lm_head.cap", cap, x));
    pl_model_finish(b, mode, x, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "4", 1, "blocks" },
    { "hidden", "256", 2, "width of the residual stream" },
    { "heads", "8", 1, "query heads; hidden is a multiple of twice as many" },
    { "kv", "2", 1, "key and value heads; divides heads" },
    { "ffn", "704", 1, "width inside the feed-forward layer" },
    { "vocab", "256", 2, "tokens (bytes need 256)" },
    PL_ROTARY_KEYS,
    { "head", "0", 0, "width of a head, even; 0: hidden / heads" },
    { "act", "silu", 0, "of the feed-forward layer's gate", PL_ACT_WORDS },
    { "eps", "0.00001", 0, "of the norms" },
    { "bias", "0", 0, "1: of queries, keys and values (Qwen2); 2: of all of the attention",
      .most = 2 },
    { "ffn_bias", "0", 0, "1: the feed-forward layer has biases", .most = 1 },
    { "qknorm", "0", 0, "1: queries and keys are normed (Qwen3)", .most = 1 },
    { "fused", "0", 0, "1: queries, keys, values are one weight, gate and up another (Phi-3)",
      .most = 1 },
    { "tied", "0", 0, "1: the output reads the table of the input", .most = 1 },
    { "scaled", "0", 0, "1: embeddings are multiplied by the root of hidden (Gemma)", .most = 1 },
    { "from_one", "0", 0, "1: norms multiply by 1 + their weight (Gemma)", .most = 1 },
    { "sandwich", "0", 0, "1: what attention and feed-forward give is normed too (Gemma 2)",
      .most = 1 },
    { "query_scalar", "0", 0, "scores are divided by its root; 0: by that of head" },
    { "cap", "0.0", 0, "of the scores, c tanh(score / c) (Gemma 2); 0: none" },
    { "logit_cap", "0.0", 0, "the same of the output" },
    { "window", "0", 0, "positions that one attends to; 0: all" },
    { "windows", "w", 0, "layers with it, w, and without, f, again and again: wf, wwwwwf", "*",
      .needs = "window!=0" },
    { "local_base", "0", 0, "of the positions of those with it (Gemma 3); 0: the same",
      .needs = "window!=0" },
    PL_EXPERTS_KEYS,
    { "shared", "0", 0, "width inside what all tokens pass too (Qwen2-MoE); 0: there is none",
      .needs = "experts!=0" },
    { "share", "nothing", 0,
      "what blocks share (WideNet): attention and feed-forward, norms too, or nothing",
      "blocks norms nothing" },
    { "seq", "256", 1, "context: positions per row" },
    { "batch", "8", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define SIZE(name, about, sizes)                                                                   \
    {                                                                                              \
        name, about, sizes ",batch=1", "text", keys, build                                         \
    }
#define LLAMA31 ",vocab=128256,base=500000,rope=llama3,rope_original=8192,seq=8192"
#define QWEN25 ",base=1000000,bias=1,seq=8192"
#define QWEN3 ",kv=8,head=128,vocab=151936,base=1000000,eps=0.000001,qknorm=1,seq=8192"
#define PHI3 ",fused=1"
#define GEMMA ",head=256,act=gelu_tanh,eps=0.000001,tied=1,scaled=1,from_one=1,seq=8192"
#define GEMMA2                                                                                     \
    GEMMA ",vocab=256000,sandwich=1,query_scalar=256,cap=50.0,logit_cap=30.0,window=4096,windows=" \
          "wf"
#define GEMMA3                                                                                     \
    GEMMA ",vocab=262144,sandwich=1,query_scalar=256,qknorm=1,base=1000000,local_base=10000,"      \
          "window=512,windows=wwwwwf"
#define QWEN3_MOE                                                                                  \
    ",head=128,vocab=151936,experts=128,k=8,names=qwen,qknorm=1,base=1000000,eps=0.000001,seq="    \
    "8192"
#define QWEN2 ",base=1000000,eps=0.000001,bias=1,seq=8192"

const pl_family pl_models_llama[] = {
    { "llama", "LLaMA, a small one over bytes, 3M", NULL, "text", keys, build },
    { "widenet-text", "the same whose blocks share attention and four experts, over bytes, 2.5M",
      "layers=12,experts=4,k=2,capacity=0.0,share=blocks", "text", keys, build },
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
    SIZE("llama3.1-8b", "Llama 3.1, 8030M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336" LLAMA31 ",rope_factor=8.0"),
    SIZE("llama3.1-70b", "Llama 3.1, 70554M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=28672" LLAMA31 ",rope_factor=8.0"),
    SIZE("llama3.1-405b", "Llama 3.1, 405853M",
         "layers=126,hidden=16384,heads=128,kv=8,ffn=53248" LLAMA31 ",rope_factor=8.0"),
    SIZE("llama3.2-1b", "Llama 3.2, 1236M",
         "layers=16,hidden=2048,heads=32,kv=8,ffn=8192,tied=1" LLAMA31 ",rope_factor=32.0"),
    SIZE("llama3.2-3b", "Llama 3.2, 3213M",
         "layers=28,hidden=3072,heads=24,kv=8,ffn=8192,tied=1" LLAMA31 ",rope_factor=32.0"),
    SIZE("mistral-7b", "Mistral 7B, 7242M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,window=4096,seq=4096"),
    SIZE("mistral-7b-v0.3", "Mistral 7B v0.3, 7248M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32768,base=1000000,seq=4096"),
    SIZE("mixtral-8x7b", "Mixtral 8x7B, 46703M",
         "layers=32,hidden=4096,heads=32,kv=8,ffn=14336,vocab=32000,base=1000000,experts=8,seq="
         "4096"),
    SIZE("mixtral-8x22b", "Mixtral 8x22B, 140621M",
         "layers=56,hidden=6144,heads=48,kv=8,ffn=16384,vocab=32000,base=1000000,experts=8,seq="
         "4096"),
    SIZE("qwen2-0.5b", "Qwen2, 494M",
         "layers=24,hidden=896,heads=14,kv=2,ffn=4864,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2-1.5b", "Qwen2, 1544M",
         "layers=28,hidden=1536,heads=12,kv=2,ffn=8960,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2-7b", "Qwen2, 7616M",
         "layers=28,hidden=3584,heads=28,kv=4,ffn=18944,vocab=152064" QWEN2),
    SIZE("qwen2-72b", "Qwen2, 72706M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=29568,vocab=152064" QWEN2),
    SIZE("qwen2.5-0.5b", "Qwen2.5, 494M",
         "layers=24,hidden=896,heads=14,kv=2,ffn=4864,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2.5-1.5b", "Qwen2.5, 1544M",
         "layers=28,hidden=1536,heads=12,kv=2,ffn=8960,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2.5-3b", "Qwen2.5, 3086M",
         "layers=36,hidden=2048,heads=16,kv=2,ffn=11008,vocab=151936,tied=1" QWEN2),
    SIZE("qwen2.5-7b", "Qwen2.5, 7616M",
         "layers=28,hidden=3584,heads=28,kv=4,ffn=18944,vocab=152064" QWEN2),
    SIZE("qwen2.5-14b", "Qwen2.5, 14770M",
         "layers=48,hidden=5120,heads=40,kv=8,ffn=13824,vocab=152064" QWEN25),
    SIZE("qwen2.5-32b", "Qwen2.5, 32764M",
         "layers=64,hidden=5120,heads=40,kv=8,ffn=27648,vocab=152064" QWEN25),
    SIZE("qwen2.5-72b", "Qwen2.5, 72706M",
         "layers=80,hidden=8192,heads=64,kv=8,ffn=29568,vocab=152064" QWEN25),
    SIZE("qwen3-0.6b", "Qwen3, 596M", "layers=28,hidden=1024,heads=16,ffn=3072,tied=1" QWEN3),
    SIZE("qwen3-1.7b", "Qwen3, 1721M", "layers=28,hidden=2048,heads=16,ffn=6144,tied=1" QWEN3),
    SIZE("qwen3-4b", "Qwen3, 4022M", "layers=36,hidden=2560,heads=32,ffn=9728,tied=1" QWEN3),
    SIZE("qwen3-8b", "Qwen3, 8191M", "layers=36,hidden=4096,heads=32,ffn=12288" QWEN3),
    SIZE("qwen3-14b", "Qwen3, 14768M", "layers=40,hidden=5120,heads=40,ffn=17408" QWEN3),
    SIZE("qwen3-32b", "Qwen3, 32762M", "layers=64,hidden=5120,heads=64,ffn=25600" QWEN3),
    SIZE("qwen1.5-moe-a2.7b", "Qwen1.5-MoE, 14316M",
         "layers=24,hidden=2048,heads=16,kv=16,ffn=5632,vocab=151936,experts=60,k=4,expert=1408,"
         "shared=5632,names=qwen,even=0" QWEN2),
    SIZE("qwen2-57b-a14b", "Qwen2-MoE, 57409M",
         "layers=28,hidden=3584,heads=28,kv=4,ffn=18944,vocab=151936,experts=64,k=8,expert=2560,"
         "shared=20480,names=qwen,even=0" QWEN2),
    SIZE("qwen3-30b-a3b", "Qwen3-MoE, 30532M",
         "layers=48,hidden=2048,heads=32,kv=4,ffn=6144,expert=768" QWEN3_MOE),
    SIZE("qwen3-235b-a22b", "Qwen3-MoE, 235094M",
         "layers=94,hidden=4096,heads=64,kv=4,ffn=12288,expert=1536" QWEN3_MOE),
    SIZE("phi3-mini", "Phi-3 mini, 3821M",
         "layers=32,hidden=3072,heads=32,kv=32,ffn=8192,vocab=32064,window=2047,seq=4096" PHI3),
    SIZE("phi3-medium", "Phi-3 medium, 13960M",
         "layers=40,hidden=5120,heads=40,kv=10,ffn=17920,vocab=32064,window=2047,seq=4096" PHI3),
    SIZE("phi4", "Phi-4, 14660M",
         "layers=40,hidden=5120,heads=40,kv=10,ffn=17920,vocab=100352,base=250000,seq=8192" PHI3),
    SIZE("gemma-2b", "Gemma, 2506M",
         "layers=18,hidden=2048,heads=8,kv=1,ffn=16384,vocab=256000" GEMMA),
    SIZE("gemma-7b", "Gemma, 8538M",
         "layers=28,hidden=3072,heads=16,kv=16,ffn=24576,vocab=256000" GEMMA),
    SIZE("gemma2-2b", "Gemma 2, 2614M", "layers=26,hidden=2304,heads=8,kv=4,ffn=9216" GEMMA2),
    SIZE("gemma2-9b", "Gemma 2, 9242M", "layers=42,hidden=3584,heads=16,kv=8,ffn=14336" GEMMA2),
    SIZE("gemma2-27b", "Gemma 2, 27227M",
         "layers=46,hidden=4608,heads=32,kv=16,ffn=36864" GEMMA2 ",head=128,query_scalar=144"),
    SIZE("gemma3-270m", "Gemma 3, 268M", "layers=18,hidden=640,heads=4,kv=1,ffn=2048" GEMMA3),
    SIZE("gemma3-1b", "Gemma 3, 1000M", "layers=26,hidden=1152,heads=4,kv=1,ffn=6912" GEMMA3),
    { 0 },
};
