/* DeepSeek-V2 and V3: decoders of blocks as LLaMA's with attention over latents, and with experts
 * but for the first layers (experts.c).
 *
 * Attention over latents: keys and values of all heads are made of one vector of kvrank numbers for
 * each position, queries of one of qrank (V2-Lite: of x itself). Positions turn `turned` more
 * numbers of each query and one such key that all heads share, which each head's keys end with.
 * Pairs that turn are neighbours in the published weights: they are brought to where pl_op_rope has
 * them, the halves, in queries and keys alike.
 * Source: DeepSeek-AI, DeepSeek-V2, 2024, sections 2.1 and C; DeepSeek-V3, 2024; Peng et al., YaRN,
 * 2023. Names of the weights, which are [out, in], as in the published checkpoints; all start with
 * std 0.02. V3's module that predicts a second token is left out, as in transformers. */
#include "models/act.h"
#include "models/experts.h"
#include "models/layers.h"
#include "models/list.h"
#include "models/rotary.h"
#include "ops/list.h"

#include <math.h>
#include <string.h>

typedef struct deepseek {
    pl_layers l;
    int64_t seq, hidden, heads, bias;
    int64_t query_rank, rank;     /* of the latents; query_rank 0: there is none */
    int64_t plain, turned, value; /* widths of a head's parts                    */
    int64_t first;                /* layers without experts                      */
    const char *rotate;           /* spec of a rope, but for letters             */
    double scale;                 /* of the scores                               */
    pl_experts experts;
} deepseek;

static pl_value *norm(deepseek *d, const char *name, pl_value *x)
{
    return pl_layers_rms_norm(&d->l, name, "", x);
}

static pl_value *linear(deepseek *d, const char *name, const char *spec, int64_t rows,
                        int64_t columns, pl_value *x)
{
    return pl_layers_linear(&d->l, name, spec, PL_SHAPE(rows, columns), NULL, x);
}

/* x [b, s, width] and a bias of its own, if the model has them. */
static pl_value *biased(deepseek *d, const char *name, int64_t width, pl_value *x)
{
    return d->bias ? pl_layers_bias(&d->l, name, "bsm,m->bsm", PL_SHAPE(width), NULL, x) : x;
}

/* The last dimension in two: its first numbers, of letter n there, and the rest, of letter d. */
static void cut(deepseek *d, const char *name, const char *front, int64_t first, pl_value *x,
                pl_value *out[2])
{
    const char *spec =
        pl_builder_fmt(d->l.b, "%sv->%sn,%sd; n=%lld", front, front, front, (long long)first);
    pl_layers_split(&d->l, name, spec, 2, x, out);
}

/* Positions turn x [front, d]. */
static pl_value *rotate(deepseek *d, const char *name, const char *front, pl_value *x)
{
    pl_builder *b = d->l.b;
    const char *halves = pl_builder_fmt(b, "%s(hp)->%s(ph); p=2", front, front);
    x = PL_ADD_AS(b, &pl_op_transpose, pl_builder_fmt(b, "%s_halves", name), halves, x);
    return PL_ADD_AS(b, &pl_op_rope, name,
                     pl_builder_fmt(b, "%sd->%sd; %s", front, front, d->rotate), x);
}

/* Queries of all heads g, both parts one after the other. */
static pl_value *add_queries(deepseek *d, pl_value *x)
{
    const char *g = pl_builder_fmt(d->l.b, "bsm,(gd)m->bsgd; g=%lld", (long long)d->heads);
    const int64_t rows = d->heads * (d->plain + d->turned);
    if (!d->query_rank) return linear(d, "self_attn.q_proj", g, rows, d->hidden, x);
    x = linear(d, "self_attn.q_a_proj", "bsm,rm->bsr", d->query_rank, d->hidden, x);
    x = biased(d, "self_attn.q_a_proj", d->query_rank, x);
    x = norm(d, "self_attn.q_a_layernorm", x);
    return linear(d, "self_attn.q_b_proj", g, rows, d->query_rank, x);
}

/* Both parts of all heads, one after the other. */
static pl_value *joined(deepseek *d, const char *name, pl_value *plain, pl_value *turned)
{
    return PL_ADD_AS(d->l.b, &pl_op_concat, name, "bsgn,bsgd->bsgv", plain, turned);
}

static pl_value *attention(deepseek *d, pl_value *x)
{
    pl_builder *b = d->l.b;
    const int64_t wide = d->rank + d->turned, rows = d->heads * (d->plain + d->value);
    pl_value *q[2], *latent[2], *kv[2];
    cut(d, "self_attn.q_parts", "bsg", d->plain, add_queries(d, x), q);
    x = linear(d, "self_attn.kv_a_proj_with_mqa", "bsm,rm->bsr", wide, d->hidden, x);
    x = biased(d, "self_attn.kv_a_proj_with_mqa", wide, x);
    cut(d, "self_attn.kv_parts", "bs", d->rank, x, latent);
    x = norm(d, "self_attn.kv_a_layernorm", latent[0]);
    x = linear(d, "self_attn.kv_b_proj",
               pl_builder_fmt(b, "bsr,(gd)r->bsgd; g=%lld", (long long)d->heads), rows, d->rank, x);
    cut(d, "self_attn.heads", "bsg", d->plain, x, kv);
    pl_value *turned = rotate(d, "self_attn.rope_q", "bsg", q[1]);
    pl_value *key = rotate(d, "self_attn.rope_k", "bs", latent[1]);
    key = PL_ADD(b, &pl_op_broadcast, pl_builder_fmt(b, "bsd->bsgd; g=%lld", (long long)d->heads),
                 key);
    pl_value *const qkv[] = { joined(d, "self_attn.queries", q[0], turned),
                              joined(d, "self_attn.keys", kv[0], key), kv[1] };
    x = pl_layers_attend(&d->l, "self_attn", qkv, NULL,
                         pl_builder_fmt(b, "scale=%.17g causal=1", d->scale), false);
    x = linear(d, "self_attn.o_proj",
               pl_builder_fmt(b, "bsgd,m(gd)->bsm; g=%lld", (long long)d->heads), d->hidden,
               d->heads * d->value, x);
    return biased(d, "self_attn.o_proj", d->hidden, x);
}

/* -- keys -------------------------------------------------------------------------------------- */

/* What the ranges of the keys do not say. */
static void check_sizes(const deepseek *d, const pl_model_args *args)
{
    pl_err *err = &d->l.b->err;
    const pl_routed *r = &d->experts.routed;
    if (d->turned % 2)
        pl_err_set(err, PL_EINPUT, "%s: turned=%lld is odd: rotary positions turn pairs",
                   args->spec, (long long)d->turned);
    if (!r->families) return;
    const int64_t each = r->experts / r->families;
    if (r->experts % r->families || r->chosen > r->families || r->chosen * each < r->k ||
        (r->sigmoid && each < 2))
        pl_err_set(err, PL_EINPUT,
                   "%s: experts=%lld in groups=%lld, of which a token takes k=%lld from "
                   "chosen=%lld: experts has to be a multiple of groups, and enough of them in "
                   "those%s",
                   args->spec, (long long)r->experts, (long long)r->families, (long long)r->k,
                   (long long)r->chosen, r->sigmoid ? ", two of each group at least" : "");
}

static void read_experts(deepseek *d, const pl_model_args *args)
{
    pl_experts *e = &d->experts;
    *e = pl_experts_new(d->l.b, args);
    e->shared = pl_model_int(args, "shared") * e->ffn;
    e->routed.sigmoid = e->biased = !strcmp(pl_model_word(args, "score"), "sigmoid");
    e->routed.scale = pl_model_real(args, "scale");
    if (pl_model_int(args, "limited") && pl_model_int(args, "groups") > 1)
        e->routed.families = pl_model_int(args, "groups"),
        e->routed.chosen = pl_model_int(args, "chosen");
    if (e->routed.scale == 1.0) e->routed.scale = 0;
}

/* Peng et al., YaRN, 2023, equation 22: of queries, and of keys, for all of their numbers. */
static double score_scale(const pl_model_args *a)
{
    const double factor = pl_model_real(a, "rope_factor"), by = pl_model_real(a, "rope_mscale");
    return factor > 1 ? 0.1 * by * log(factor) + 1 : 1;
}

static double square(double x)
{
    return x * x;
}

static deepseek read_args(pl_builder *b, const pl_model_args *args)
{
    deepseek d = { .l = pl_layers_new(b, args),
                   .seq = pl_model_int(args, "seq"),
                   .hidden = pl_model_int(args, "hidden"),
                   .heads = pl_model_int(args, "heads"),
                   .bias = pl_model_int(args, "bias"),
                   .query_rank = pl_model_int(args, "qrank"),
                   .rank = pl_model_int(args, "kvrank"),
                   .plain = pl_model_int(args, "nope"),
                   .turned = pl_model_int(args, "turned"),
                   .value = pl_model_int(args, "value"),
                   .first = pl_model_int(args, "first") };
    read_experts(&d, args);
    check_sizes(&d, args);
    d.scale = square(score_scale(args)) / sqrt((double)(d.plain + d.turned));
    d.rotate = pl_rotary_attrs(b, args, d.turned, d.seq);
    return d;
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    deepseek d = read_args(b, args);
    const pl_shape words = PL_SHAPE(pl_model_int(args, "vocab"), d.hidden);
    pl_value *tokens = pl_model_tokens(b, args);
    pl_value *table = pl_layers_weight(&d.l, "model.embed_tokens.weight", words, NULL);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "model.embed_tokens", "vm,bs->bsm", table, tokens);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "model.layers.%lld.", (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&d, norm(&d, "input_layernorm", x)));
        pl_value *y = norm(&d, "post_attention_layernorm", x);
        y = i >= d.first && pl_experts_at(&d.experts, i)
                ? pl_experts_add(&d.experts, y)
                : pl_layers_gated(&d.l, "mlp", pl_model_word(args, "act"),
                                  pl_model_int(args, "ffn"), false, y);
        x = PL_ADD(b, &pl_op_add, NULL, x, y);
    }
    b->scope = "";
    x = norm(&d, "model.norm", x);
    if (!pl_model_int(args, "tied")) table = pl_layers_weight(&d.l, "lm_head.weight", words, NULL);
    x = PL_ADD_AS(b, &pl_op_einsum, "lm_head", "bsm,vm->bsv", x, table);
    pl_model_finish(b, mode, x, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "4", 1, "blocks" },
    { "hidden", "256", 2, "width of the residual stream" },
    { "heads", "8", 1, "of the attention" },
    { "qrank", "0", 0, "numbers that a position's queries are made of; 0: of x itself" },
    { "kvrank", "64", 1, "numbers that a position's keys and values are made of" },
    { "nope", "32", 1, "width of a head's queries and keys without positions" },
    { "turned", "16", 2, "and with rotary positions, even" },
    { "value", "32", 1, "width of a head's values" },
    { "ffn", "704", 1, "width inside a feed-forward layer without experts" },
    { "vocab", "256", 2, "tokens (bytes need 256)" },
    PL_ROTARY_KEYS,
    { "rope_mscale", "0.0", 0, "scores are multiplied by (1 + it x 0.1 ln(rope_factor))^2 (yarn)",
      .needs = "rope=yarn" },
    { "act", "silu", 0, "of the feed-forward layers' gates", PL_ACT_WORDS },
    { "eps", "0.000001", 0, "of the norms" },
    { "bias", "0", 0, "1: of the latents and of the attention's output", .most = 1 },
    { "tied", "0", 0, "1: the output reads the table of the input", .most = 1 },
    { "first", "1", 0, "layers without experts at the beginning", .needs = "experts!=0" },
    PL_EXPERTS_KEYS,
    { "shared", "1", 0, "experts that all tokens pass", .needs = "experts!=0" },
    { "score", "softmax", 0, "of the experts, by", "softmax sigmoid", .needs = "experts!=0" },
    { "groups", "1", 1, "that experts stand in", .needs = "experts!=0 limited!=0" },
    { "chosen", "1", 1, "of these, where a token's experts are",
      .needs = "experts!=0 groups!=1 limited!=0" },
    { "limited", "1", 0, "0: a token's experts are of all groups", .most = 1,
      .needs = "experts!=0" },
    { "scale", "1.0", 0, "of the weights of a token's experts", .needs = "experts!=0" },
    { "seq", "256", 1, "context: positions per row" },
    { "batch", "8", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define SIZE(name, about, sizes)                                                                   \
    {                                                                                              \
        name, about, sizes ",names=deepseek,batch=1,seq=4096", "text", keys, build                 \
    }
#define YARN ",rope=yarn,rope_factor=40.0,rope_original=4096,rope_high=32.0,rope_mscale="
#define HEADS ",kvrank=512,nope=128,turned=64,value=128"

const pl_family pl_models_deepseek[] = {
    { "deepseek", "DeepSeek, a small one over bytes", "names=deepseek,experts=8,expert=176,even=0",
      "text", keys, build },
    SIZE("deepseek-v2-lite", "DeepSeek-V2-Lite, 15706M",
         "layers=27,hidden=2048,heads=16,ffn=10944,vocab=102400,experts=64,k=6,expert=1408,"
         "shared=2,even=0,limited=0" HEADS YARN "0.707"),
    SIZE("deepseek-v2", "DeepSeek-V2, 235741M",
         "layers=60,hidden=5120,heads=128,qrank=1536,ffn=12288,vocab=102400,experts=160,k=6,"
         "expert=1536,shared=2,even=0,groups=8,chosen=3,scale=16.0" HEADS YARN "0.707"),
    SIZE("deepseek-v3", "DeepSeek-V3, 671026M",
         "layers=61,hidden=7168,heads=128,qrank=1536,ffn=18432,vocab=129280,experts=256,k=8,"
         "expert=2048,first=3,score=sigmoid,groups=8,chosen=4,scale=2.5" HEADS YARN "1.0"),
    { 0 },
};
