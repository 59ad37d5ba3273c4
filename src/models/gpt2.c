/* GPT-2: a decoder of L blocks, x += attention(norm(x)), x += mlp(norm(x)), with learned positions
 * and the token table tied to the output.
 * Source: Radford et al., "Language models are unsupervised multitask learners", 2019; sizes of the
 * four models and names of the weights as in the published checkpoints (weights are [in, out]);
 * residual projections start with std 0.02/sqrt(2 L). */
#include "models/models.h"
#include "ops/list.h"

#include <math.h>

typedef struct gpt2 {
    pl_builder *b;
    pl_mode mode;
    int64_t batch, seq, hidden, heads, layers, vocab;
    double dropout;
    pl_value *seed;
    int n_dropouts; /* each draws from its own stream */
} gpt2;

static pl_value *weight(gpt2 *g, const char *name, int64_t rows, int64_t columns, double std)
{
    return pl_add_state(g->b, name, PL_F32, PL_SHAPE(rows, columns),
                        pl_builder_fmt(g->b, "normal std=%.17g", std), true);
}

static pl_value *vector(gpt2 *g, const char *name, int64_t n, const char *init)
{
    return pl_add_state(g->b, name, PL_F32, PL_SHAPE(n), init, true);
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
    return PL_ADD_AS(g->b, &pl_op_layer_norm, name, NULL, x, sum, deviation, scale, bias);
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
    const char *mask =
        pl_builder_fmt(b, "; scale=%.17g causal=1", 1 / sqrt((double)(g->hidden / g->heads)));
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
    pl_value *w = weight(g, "mlp.c_fc.weight", g->hidden, 4 * g->hidden, 0.02);
    pl_value *c = vector(g, "mlp.c_fc.bias", 4 * g->hidden, "zeros");
    pl_value *y = PL_ADD_AS(b, &pl_op_einsum, "mlp.fc", "bsm,mf->bsf", x, w);
    y = PL_ADD_AS(b, &pl_op_gelu, "mlp.gelu", "; tanh=1",
                  PL_ADD(b, &pl_op_add, "...f,f->...f", y, c));
    w = weight(g, "mlp.c_proj.weight", 4 * g->hidden, g->hidden,
               0.02 / sqrt(2 * (double)g->layers));
    c = vector(g, "mlp.c_proj.bias", g->hidden, "zeros");
    y = PL_ADD_AS(b, &pl_op_einsum, "mlp.proj", "bsf,fm->bsm", y, w);
    return drop(g, PL_ADD(b, &pl_op_add, "...m,m->...m", y, c));
}

static pl_value *embed(gpt2 *g, pl_value *table, pl_value *tokens)
{
    pl_value *places = weight(g, "wpe.weight", g->seq, g->hidden, 0.02);
    pl_value *x = PL_ADD_AS(g->b, &pl_op_embedding, "wte", "vm,bs->bsm", table, tokens);
    return drop(g, PL_ADD_AS(g->b, &pl_op_add, "wpe", "bsm,sm->bsm", x, places));
}

static void build(pl_builder *b, const pl_model_args *a, pl_mode mode)
{
    gpt2 g = { .b = b,
               .mode = mode,
               .batch = pl_model_int(a, "batch"),
               .seq = pl_model_int(a, "seq"),
               .hidden = pl_model_int(a, "hidden"),
               .heads = pl_model_int(a, "heads"),
               .layers = pl_model_int(a, "layers"),
               .vocab = pl_model_int(a, "vocab"),
               .dropout = pl_model_real(a, "dropout") };
    if (g.hidden % g.heads)
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: hidden=%lld does not divide into heads=%lld: make it a "
                   "multiple, e.g. hidden=%lld",
                   a->spec, (long long)g.hidden, (long long)g.heads,
                   (long long)((g.hidden + g.heads - 1) / g.heads * g.heads));
    const int64_t classes = pl_model_int(a, "classes");
    if (classes > g.vocab)
        pl_err_set(&b->err, PL_EINPUT,
                   "%s: classes=%lld are more than vocab=%lld: targets are tokens or fewer",
                   a->spec, (long long)classes, (long long)g.vocab);
    if (g.dropout >= 1)
        pl_err_set(&b->err, PL_EINPUT, "%s: dropout=%g is not below 1", a->spec, g.dropout);
    pl_value *tokens = pl_add_input(b, "tokens", PL_I32, PL_SHAPE(g.batch, g.seq));
    if (mode == PL_TRAIN && g.dropout > 0) g.seed = pl_add_input(b, "seed", PL_I64, PL_SCALAR);
    pl_value *table = weight(&g, "wte.weight", g.vocab, g.hidden, 0.02);
    pl_value *x = embed(&g, table, tokens);
    for (int64_t i = 0; i < g.layers && !b->err.code; i++) {
        b->scope = pl_builder_fmt(b, "h.%lld.", (long long)i);
        x = PL_ADD(b, &pl_op_add, NULL, x, attention(&g, norm(&g, "ln_1", x)));
        x = PL_ADD(b, &pl_op_add, NULL, x, mlp(&g, norm(&g, "ln_2", x)));
    }
    b->scope = "";
    x = norm(&g, "ln_f", x);
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
    { "seq", "1024", 1, "context: positions per row" },
    { "batch", "1", 1, "rows per step, over all devices" },
    { "dropout", "0.1", 0, "of embedding, attention and both residuals" },
    PL_MODEL_DTYPE,
    { 0 },
};

const pl_model pl_model_gpt2 = { "gpt2", "GPT-2 small, 124M", NULL, "text", keys, build };
const pl_model pl_model_gpt2_medium = {
    "gpt2-medium", "GPT-2 medium, 355M", "layers=24,hidden=1024,heads=16", "text", keys, build
};
const pl_model pl_model_gpt2_large = {
    "gpt2-large", "GPT-2 large, 774M", "layers=36,hidden=1280,heads=20", "text", keys, build
};
const pl_model pl_model_gpt2_xl = {
    "gpt2-xl", "GPT-2 XL, 1558M", "layers=48,hidden=1600,heads=25", "text", keys, build
};
