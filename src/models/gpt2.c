/* GPT-2: a decoder of L blocks, x += attention(norm(x)), x += mlp(norm(x)), with learned positions
 * and the token table tied to the output.
 *
 * With experts every second block has k of them in place of its feed-forward layer, as GShard has
 * it; a row is a group of tokens. Alpa's sizes (Zheng et al., OSDI 2022) are of both kinds; their
 * groups are two rows.
 * Source: Radford et al., "Language models are unsupervised multitask learners", 2019; sizes of the
 * four models and names of the weights as in the published checkpoints (weights are [in, out]);
 * residual projections start with std 0.02/sqrt(2 L). */
#include "models/act.h"
#include "models/models.h"
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

typedef struct gpt2 {
    pl_builder *b;
    pl_mode mode;
    int64_t batch, seq, hidden, heads, ffn, layers, vocab;
    double dropout;
    const char *eps; /* spec of a norm's last part                        */
    const char *act;
    double scale;     /* of the scores of the present layer                */
    pl_routed routed; /* of every second block; experts 0: there are none  */
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} gpt2;

static pl_value *weight(gpt2 *g, const char *name, int64_t rows, int64_t columns, double std)
{
    return pl_add_state(g->b, name, PL_F32, PL_SHAPE(rows, columns),
                        pl_builder_fmt(g->b, "normal std=%.17g", std), PL_WEIGHT);
}

static pl_value *vector(gpt2 *g, const char *name, int64_t n, const char *init)
{
    return pl_add_state(g->b, name, PL_F32, PL_SHAPE(n), init, PL_WEIGHT);
}

static pl_value *drop(gpt2 *g, pl_value *x)
{
    if (g->mode != PL_TRAIN || g->dropout <= 0) return x;
    const char *spec = pl_builder_fmt(g->b, "; p=%.17g stream=%d", g->dropout, ++g->n_dropouts);
    return PL_ADD(g->b, &pl_op_dropout, spec, x, g->seed);
}

static pl_value *norm(gpt2 *g, const char *name, pl_value *x)
{
    pl_value *scale = vector(g, pl_builder_fmt(g->b, "%s.weight", name), g->hidden, "ones");
    pl_value *bias = vector(g, pl_builder_fmt(g->b, "%s.bias", name), g->hidden, "zeros");
    pl_value *sum = PL_ADD(g->b, &pl_op_layer_norm_sum, NULL, x);
    pl_value *deviation = PL_ADD(g->b, &pl_op_layer_norm_deviation, NULL, x, sum);
    return PL_ADD_AS(g->b, &pl_op_layer_norm, name, g->eps, x, sum, deviation, scale, bias);
}

static pl_value *attention(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->b;
    double std = 0.02 / sqrt(2 * (double)g->layers);
    const char *sizes = pl_builder_fmt(b, "v=3 h=%lld", (long long)g->heads);
    pl_value *w = weight(g, "attn.c_attn.weight", g->hidden, 3 * g->hidden, 0.02);
    pl_value *c = vector(g, "attn.c_attn.bias", 3 * g->hidden, "zeros");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "attn.qkv",
                            pl_builder_fmt(b, "bsm,m(vhd)->bs(vhd); %s", sizes), x, w);
    y = PL_ADD(b, &pl_op_add, pl_builder_fmt(b, "bs(vhd),(vhd)->bs(vhd); %s", sizes), y, c);
    pl_node *qkv = pl_add_node(b, &pl_op_split, "attn.split",
                               pl_builder_fmt(b, "bs(vhd)->bshd,bshd,bshd; %s", sizes), 1,
                               (pl_value *const[]){ y });
    if (!qkv) return NULL;
    pl_value *p =
        PL_ADD_AS(b, &pl_op_einsum, "attn.scores", "bqhd,bkhd->bhqk", qkv->out[0], qkv->out[1]);
    const char *mask = pl_builder_fmt(b, "; scale=%.17g causal=1", g->scale);
    p = drop(g, PL_ADD_AS(b, &pl_op_softmax, "attn.softmax", mask, p));
    y = PL_ADD_AS(b, &pl_op_einsum, "attn.mix", "bhqk,bkhd->bqhd", p, qkv->out[2]);
    w = weight(g, "attn.c_proj.weight", g->hidden, g->hidden, std);
    c = vector(g, "attn.c_proj.bias", g->hidden, "zeros");
    y = PL_ADD_AS(b, &pl_op_einsum, "attn.proj",
                  pl_builder_fmt(b, "bshd,(hd)m->bsm; h=%lld", (long long)g->heads), y, w);
    return drop(g, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

static pl_value *mlp(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->b;
    pl_value *w = weight(g, "mlp.c_fc.weight", g->hidden, g->ffn, 0.02);
    pl_value *c = vector(g, "mlp.c_fc.bias", g->ffn, "zeros");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "mlp.fc", "bsm,mf->bsf", x, w);
    y = pl_act_add(b, g->act, "mlp", PL_ADD(b, &pl_op_add, "...f,f->...f", y, c));
    w = weight(g, "mlp.c_proj.weight", g->ffn, g->hidden, 0.02 / sqrt(2 * (double)g->layers));
    c = vector(g, "mlp.c_proj.bias", g->hidden, "zeros");
    y = PL_ADD_AS(b, &pl_op_einsum, "mlp.proj", "bsf,fm->bsm", y, w);
    return drop(g, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

/* The same layer of every expert, on its slots x [g, e, slot, in]; weights [e, in, out]. */
static pl_value *expert_linear(gpt2 *g, const char *name, int64_t in, int64_t out, double std,
                               pl_value *x)
{
    pl_builder *b = g->b;
    pl_value *w = pl_add_state(b, pl_builder_fmt(b, "%s.weight", name), PL_F32,
                               PL_SHAPE(g->routed.experts, in, out),
                               pl_builder_fmt(b, "normal std=%.17g", std), PL_WEIGHT);
    return PL_ADD_AS(b, &pl_op_einsum, name, "geci,eio->geco", x, w);
}

static pl_value *experts(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->b;
    const char *scope = b->scope;
    b->scope = pl_builder_fmt(b, "%smoe.", scope);
    pl_value *w = weight(g, "router.weight", g->routed.experts, g->hidden, 0.02);
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "router", "gth,eh->gte", x, w);
    y = pl_routed_send(&g->routed, y, NULL, x);
    y = expert_linear(g, "experts.c_fc", g->hidden, g->ffn, 0.02, y);
    y = pl_act_add(b, g->act, "experts", y);
    y = expert_linear(g, "experts.c_proj", g->ffn, g->hidden, 0.02 / sqrt(2 * (double)g->layers),
                      y);
    y = drop(g, pl_routed_return(&g->routed, y));
    b->scope = scope;
    return y;
}

static pl_value *embed(gpt2 *g, pl_value *table, pl_value *tokens, int64_t positions)
{
    pl_builder *b = g->b;
    pl_value *places = weight(g, "wpe.weight", positions, g->hidden, 0.02);
    if (positions > g->seq)
        places = PL_ADD_AS(b, &pl_op_slice, "wpe.first",
                           pl_builder_fmt(b, "vm->um; u=%lld", (long long)g->seq), places);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "wte", "vm,bs->bsm", table, tokens);
    return drop(g, PL_ADD_AS(b, &pl_op_add, "wpe", "bsm,sm->bsm", x, places));
}

/* What the ranges of the keys do not say. */
static void check_sizes(const gpt2 *g, const pl_model_args *a)
{
    pl_err *err = &g->b->err;
    long long positions = (long long)pl_model_int(a, "positions"),
              classes = (long long)pl_model_int(a, "classes");
    if (g->hidden % g->heads)
        pl_err_set(err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld: make it a "
                   "multiple, e.g. hidden=%lld",
                   a->spec, (long long)g->hidden, (long long)g->heads,
                   (long long)((g->hidden + g->heads - 1) / g->heads * g->heads));
    if (classes > g->vocab)
        pl_err_set(err, PL_EINPUT,
                   "%s: classes=%lld are more than vocab=%lld: targets are tokens or fewer",
                   a->spec, classes, (long long)g->vocab);
    if (positions && positions < g->seq)
        pl_err_set(err, PL_EINPUT, "%s: seq=%lld is more than positions=%lld", a->spec,
                   (long long)g->seq, positions);
    if (g->dropout >= 1)
        pl_err_set(err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, g->dropout);
}

static gpt2 read_args(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    int64_t experts = pl_model_int(a, "experts");
    gpt2 g = { .b = b,
               .mode = mode,
               .batch = pl_model_int(a, "batch"),
               .seq = pl_model_int(a, "seq"),
               .hidden = pl_model_int(a, "hidden"),
               .heads = pl_model_int(a, "heads"),
               .ffn = pl_model_int(a, "ffn"),
               .layers = pl_model_int(a, "layers"),
               .vocab = pl_model_int(a, "vocab"),
               .dropout = pl_model_real(a, "dropout"),
               .eps = pl_builder_fmt(b, "; eps=%.9g", pl_model_real(a, "eps")),
               .act = pl_model_word(a, "act") };
    if (!g.ffn) g.ffn = 4 * g.hidden;
    if (experts)
        g.routed = pl_routed_new(b, a->spec, experts, pl_model_int(a, "k"), g.seq,
                                 pl_model_real(a, "capacity"));
    g.routed.even = true;
    check_sizes(&g, a);
    return g;
}

/* By 1 / sqrt(d), by that and the layer's number, or not at all. */
static double scale_of(const gpt2 *g, const pl_model_args *a, int64_t layer)
{
    double scale = pl_model_int(a, "scale") ? 1 / sqrt((double)(g->hidden / g->heads)) : 1;
    return pl_model_int(a, "scale_layer") ? scale / (double)(layer + 1) : scale;
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    gpt2 g = read_args(b, a, mode);
    const int64_t classes = pl_model_int(a, "classes"), positions = pl_model_int(a, "positions");
    pl_value *tokens = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(g.batch, g.seq));
    if (mode == PL_TRAIN && g.dropout > 0) g.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    pl_value *table = weight(&g, "wte.weight", g.vocab, g.hidden, 0.02);
    pl_value *x = embed(&g, table, tokens, positions ? positions : g.seq);
    for (int64_t i = 0; i < g.layers && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "h.%lld.", (long long)i);
        g.scale = scale_of(&g, a, i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&g, norm(&g, "ln_1", x)));
        pl_value *y = norm(&g, "ln_2", x);
        x = PL_ADD(b, &pl_op_add, NULL, x, g.routed.experts && i % 2 ? experts(&g, y) : mlp(&g, y));
    }
    b->scope = "";
    x = norm(&g, "ln_f", x);
    if (!classes && !pl_model_int(a, "tied"))
        table = weight(&g, "lm_head.weight", g.vocab, g.hidden, 0.02);
    if (classes) table = weight(&g, "classifier.weight", classes, g.hidden, 0.02);
    x = PL_ADD_AS(b, &pl_op_einsum, "logits", "bsm,vm->bsv", x, table);
    pl_model_finish(b, mode, x, "targets");
}

static const pl_model_key keys[] = {
    { "layers", "12", 1, "blocks" },
    { "hidden", "768", 1, "width of the residual stream" },
    { "heads", "12", 1, "attention heads; divides hidden" },
    { "vocab", "50257", 2, "tokens (bytes need 256)" },
    { "classes", "0", 0, "of a token, by a table of their own; 0: tokens, by that of the input" },
    { "ffn", "0", 0, "width inside the feed-forward layer; 0: 4 hidden" },
    { "act", "gelu_tanh", 0, "of that layer", PL_ACT_WORDS },
    { "eps", "0.00001", 0, "of the norms" },
    { "tied", "1", 0, "1: the output reads the table of the input" },
    { "scale", "1", 0, "1: scores are divided by the root of a head's width" },
    { "scale_layer", "0", 0, "1: and by the number of the layer, from 1" },
    { "positions", "0", 0, "rows of their table, at least seq; 0: seq" },
    { "experts", "0", 0, "of every second block, each such a layer without biases; 0: none" },
    { "k", "2", 1, "experts of a token" },
    { "capacity", "1.25", 0, "slots of the experts by choices of the tokens of a row" },
    { "seq", "1024", 1, "context: positions per row" },
    { "batch", "1", 1, "rows per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, attention and both residuals" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define SIZE(name, about, sizes)                                                                   \
    {                                                                                              \
        name, about, sizes, "text", keys, build                                                    \
    }
#define ALPA(name, sizes)                                                                          \
    {                                                                                              \
        "gpt-" name, "GPT " name " of Alpa", sizes ",vocab=51200,batch=1024", "text", keys, build  \
    }
#define ROUTED(name, hidden, sizes)                                                                \
    {                                                                                              \
        "gpt-moe-" name, "GShard " name " of Alpa",                                                \
            "hidden=" hidden ",heads=16,vocab=32000,batch=1024," sizes, "text", keys, build        \
    }

const pl_model pl_models_gpt2[] = {
    { "gpt2", "GPT-2 small, 124M", NULL, "text", keys, build },
    SIZE("gpt2-medium", "GPT-2 medium, 355M", "layers=24,hidden=1024,heads=16"),
    SIZE("gpt2-large", "GPT-2 large, 774M", "layers=36,hidden=1280,heads=20"),
    SIZE("gpt2-xl", "GPT-2 XL, 1558M", "layers=48,hidden=1600,heads=25"),
    SIZE("gpt3-175b", "GPT-3, 174604M", "layers=96,hidden=12288,heads=96,seq=2048"),
    ALPA("350m", "layers=24,hidden=1024,heads=16"),
    ALPA("760m", "layers=24,hidden=1536,heads=16"),
    ALPA("1.3b", "layers=24,hidden=2048,heads=32"),
    ALPA("2.6b", "layers=32,hidden=2560,heads=32"),
    ALPA("6.7b", "layers=32,hidden=4096,heads=32"),
    ALPA("15b", "layers=48,hidden=5120,heads=40"),
    ALPA("39b", "layers=48,hidden=8192,heads=64"),
    ROUTED("380m", "768", "layers=8,ffn=6144,experts=8"),
    ROUTED("690m", "768", "layers=8,ffn=6144,experts=16"),
    ROUTED("1.3b", "768", "layers=16,ffn=6144,experts=16"),
    ROUTED("2.4b", "1024", "layers=16,ffn=8192,experts=16"),
    ROUTED("10b", "1536", "layers=16,ffn=12288,experts=32"),
    ROUTED("27b", "2048", "layers=16,ffn=16384,experts=48"),
    ROUTED("70b", "2048", "layers=32,ffn=16384,experts=64"),
    { 0 },
};
