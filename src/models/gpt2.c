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
#include "models/layers.h"
#include "models/list.h"
#include "models/routed.h"
#include "ops/list.h"

#include <math.h>

typedef struct gpt2 {
    pl_layers l;
    int64_t seq, hidden, heads, ffn;
    const char *act;
    const char *last; /* initial value of what adds to the residual stream */
    double scale;     /* of the scores of the present layer                */
    pl_routed routed; /* of every second block; experts 0: there are none  */
} gpt2;

static pl_value *attention(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->l.b;
    const int64_t m = g->hidden;
    const char *sizes = pl_builder_fmt(b, "v=3 h=%lld", (long long)g->heads);
    const char *mask = pl_builder_fmt(b, "scale=%.17g causal=1", g->scale);
    pl_value *qkv[3], *w = pl_layers_weight(&g->l, "attn.c_attn.weight", PL_SHAPE(m, 3 * m), NULL);
    x = PL_ADD_AS(b, &pl_op_einsum, "attn.qkv", pl_builder_fmt(b, "bsm,m(vhd)->bs(vhd); %s", sizes),
                  x, w);
    x = pl_layers_bias(&g->l, "attn.c_attn", pl_builder_fmt(b, "bs(vhd),(vhd)->bs(vhd); %s", sizes),
                       PL_SHAPE(3 * m), NULL, x);
    pl_layers_split(&g->l, "attn.split", pl_builder_fmt(b, "bs(vhd)->bshd,bshd,bshd; %s", sizes), 3,
                    x, qkv);
    x = pl_layers_attend(&g->l, "attn", qkv, NULL, mask, true);
    w = pl_layers_weight(&g->l, "attn.c_proj.weight", PL_SHAPE(m, m), g->last);
    x = PL_ADD_AS(b, &pl_op_einsum, "attn.proj",
                  pl_builder_fmt(b, "bshd,(hd)m->bsm; h=%lld", (long long)g->heads), x, w);
    x = pl_layers_bias(&g->l, "attn.c_proj", "...m,m->...m", PL_SHAPE(m), NULL, x);
    return pl_layers_drop(&g->l, x);
}

static pl_value *mlp(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->l.b;
    pl_value *w = pl_layers_weight(&g->l, "mlp.c_fc.weight", PL_SHAPE(g->hidden, g->ffn), NULL);
    x = PL_ADD_AS(b, &pl_op_einsum, "mlp.fc", "bsm,mf->bsf", x, w);
    x = pl_layers_bias(&g->l, "mlp.c_fc", "...f,f->...f", PL_SHAPE(g->ffn), NULL, x);
    x = pl_act_add(b, g->act, "mlp", x);
    w = pl_layers_weight(&g->l, "mlp.c_proj.weight", PL_SHAPE(g->ffn, g->hidden), g->last);
    x = PL_ADD_AS(b, &pl_op_einsum, "mlp.proj", "bsf,fm->bsm", x, w);
    x = pl_layers_bias(&g->l, "mlp.c_proj", "...m,m->...m", PL_SHAPE(g->hidden), NULL, x);
    return pl_layers_drop(&g->l, x);
}

/* Each expert has a layer of its own, on its slots x [g, e, slot, in]; weights [e, in, out]. */
static pl_value *experts(gpt2 *g, pl_value *x)
{
    pl_builder *b = g->l.b;
    const char *scope = b->scope, *each = "geci,eio->geco";
    const int64_t n = g->routed.experts, m = g->hidden, f = g->ffn;
    b->scope = pl_builder_fmt(b, "%smoe.", scope);
    pl_value *y = pl_layers_linear(&g->l, "router", "gth,eh->gte", PL_SHAPE(n, m), NULL, x);
    y = pl_routed_send(&g->routed, y, NULL, x);
    y = pl_layers_linear(&g->l, "experts.c_fc", each, PL_SHAPE(n, m, f), NULL, y);
    y = pl_act_add(b, g->act, "experts", y);
    y = pl_layers_linear(&g->l, "experts.c_proj", each, PL_SHAPE(n, f, m), g->last, y);
    y = pl_layers_drop(&g->l, pl_routed_return(&g->routed, y));
    b->scope = scope;
    return y;
}

static pl_value *embed(gpt2 *g, pl_value *table, pl_value *tokens, int64_t positions)
{
    pl_builder *b = g->l.b;
    pl_value *places = pl_layers_weight(&g->l, "wpe.weight", PL_SHAPE(positions, g->hidden), NULL);
    if (positions > g->seq)
        places = PL_ADD_AS(b, &pl_op_slice, "wpe.first",
                           pl_builder_fmt(b, "vm->um; u=%lld", (long long)g->seq), places);
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "wte", "vm,bs->bsm", table, tokens);
    return pl_layers_drop(&g->l, PL_ADD_AS(b, &pl_op_add, "wpe", "bsm,sm->bsm", x, places));
}

static gpt2 read_args(pl_builder *b, const pl_model_args *args)
{
    const int64_t experts = pl_model_int(args, "experts"),
                  positions = pl_model_int(args, "positions"),
                  layers = pl_model_int(args, "layers");
    gpt2 g = { .l = pl_layers_new(b, args),
               .seq = pl_model_int(args, "seq"),
               .hidden = pl_model_int(args, "hidden"),
               .heads = pl_model_int(args, "heads"),
               .ffn = pl_model_int(args, "ffn"),
               .act = pl_model_word(args, "act"),
               .last = pl_layers_normal(b, 0.02 / sqrt(2 * (double)layers)) };
    if (!g.ffn) g.ffn = 4 * g.hidden;
    if (experts)
        g.routed = pl_routed_new(b, args->spec, experts, pl_model_int(args, "k"), g.seq,
                                 pl_model_real(args, "capacity"));
    g.routed.even = true;
    pl_layers_check_sizes(b, args);
    if (positions && positions < g.seq)
        pl_err_set(&b->err, PL_EINPUT, "%s: seq=%lld is more than positions=%lld", args->spec,
                   (long long)g.seq, (long long)positions);
    return g;
}

/* By 1 / sqrt(d), by that and the layer's number, or not at all. */
static double scale_of(const gpt2 *g, const pl_model_args *a, int64_t layer)
{
    double scale = pl_model_int(a, "scale") ? 1 / sqrt((double)(g->hidden / g->heads)) : 1;
    return pl_model_int(a, "scale_layer") ? scale / (double)(layer + 1) : scale;
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    gpt2 g = read_args(b, args);
    const int64_t classes = pl_model_int(args, "classes"),
                  positions = pl_model_int(args, "positions"), vocab = pl_model_int(args, "vocab");
    pl_value *tokens = pl_model_tokens(b, args);
    pl_layers_add_seed(&g.l, args, mode);
    pl_value *table = pl_layers_weight(&g.l, "wte.weight", PL_SHAPE(vocab, g.hidden), NULL);
    pl_value *x = embed(&g, table, tokens, positions ? positions : g.seq);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "h.%lld.", (long long)i);
        g.scale = scale_of(&g, args, i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&g, pl_layers_norm(&g.l, "ln_1", x)));
        pl_value *y = pl_layers_norm(&g.l, "ln_2", x);
        x = PL_ADD(b, &pl_op_add, NULL, x, g.routed.experts && i % 2 ? experts(&g, y) : mlp(&g, y));
    }
    b->scope = "";
    x = pl_layers_norm(&g.l, "ln_f", x);
    if (!classes && !pl_model_int(args, "tied"))
        table = pl_layers_weight(&g.l, "lm_head.weight", PL_SHAPE(vocab, g.hidden), NULL);
    if (classes)
        table = pl_layers_weight(&g.l, "classifier.weight", PL_SHAPE(classes, g.hidden), NULL);
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
    { "tied", "1", 0, "1: the output reads the table of the input", .most = 1,
      .needs = "classes=0" },
    { "scale", "1", 0, "1: scores are divided by the root of a head's width", .most = 1 },
    { "scale_layer", "0", 0, "1: and by the number of the layer, from 1", .most = 1 },
    { "positions", "0", 0, "rows of their table, at least seq; 0: seq" },
    { "experts", "0", 0, "of every second block, each such a layer without biases; 0: none" },
    { "k", "2", 1, "experts of a token", .needs = "experts!=0" },
    { "capacity", "1.25", 0, "slots of the experts by choices of the tokens of a row",
      .needs = "experts!=0" },
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

const pl_family pl_models_gpt2[] = {
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
