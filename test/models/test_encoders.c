/* ViT, BERT and RoBERTa: what they compute, against the same written out in doubles. */
#include "written.h"

/* y = x w^T + c of the layer `name`. */
static double *linear(const eval *e, const char *block, const char *name, int n, int in, int out,
                      const double *x)
{
    double *y = apply(weight_of(e, block, name), n, in, out, x);
    const float *c = state_of(e, pl_arena_fmt(arena, "%s%s.bias", block, name));
    for (int i = 0; i < n * out; i++) y[i] += (double)c[i % out];
    return y;
}

static double *norm(const eval *e, const char *block, const char *name, double eps, int n,
                    int width, const double *x)
{
    const float *scale = weight_of(e, block, name);
    const float *bias = state_of(e, pl_arena_fmt(arena, "%s%s.bias", block, name));
    double *y = zeros(n * width);
    for (int s = 0; s < n; s++) {
        const double *row = x + s * width;
        double mean = 0, square = 0;
        for (int i = 0; i < width; i++) mean += row[i] / width;
        for (int i = 0; i < width; i++) square += (row[i] - mean) * (row[i] - mean) / width;
        for (int i = 0; i < width; i++)
            y[s * width + i] =
                (row[i] - mean) / sqrt(square + eps) * (double)scale[i] + (double)bias[i];
    }
    return y;
}

static void gelu(double *x, int n)
{
    for (int i = 0; i < n; i++) x[i] *= 0.5 * (1 + erf(x[i] / sqrt(2)));
}

/* -- RoBERTa and BERT -------------------------------------------------------------------------- */

enum { R_SEQ = 6, R_HIDDEN = 12, R_HEADS = 3, R_FFN = 7, R_CLASSES = 5, R_VOCAB = 9 };

typedef struct encoder {
    const char *spec, *prefix;
    int padding;
    double eps;
} encoder;

static double *bert_embed(const eval *e, const encoder *d, const int32_t *tokens)
{
    const char *scope = pl_arena_fmt(arena, "%sembeddings.", d->prefix);
    double *x = look_up(weight_of(e, scope, "word_embeddings"), R_SEQ, R_HIDDEN, tokens);
    const float *places = weight_of(e, scope, "position_embeddings") + d->padding * R_HIDDEN;
    const float *type = weight_of(e, scope, "token_type_embeddings");
    for (int i = 0; i < R_SEQ * R_HIDDEN; i++)
        x[i] += (double)places[i] + (double)type[i % R_HIDDEN];
    return norm(e, scope, "LayerNorm", d->eps, R_SEQ, R_HIDDEN, x);
}

static double *bert_block(const eval *e, const encoder *d, int i, double *x)
{
    const char *block = pl_arena_fmt(arena, "%sencoder.layer.%d.", d->prefix, i);
    const heads a = { R_HEADS, 1, R_HIDDEN / R_HEADS, 1 / sqrt(R_HIDDEN / R_HEADS), false, NULL };
    double *q = linear(e, block, "attention.self.query", R_SEQ, R_HIDDEN, R_HIDDEN, x);
    double *k = linear(e, block, "attention.self.key", R_SEQ, R_HIDDEN, R_HIDDEN, x);
    double *v = linear(e, block, "attention.self.value", R_SEQ, R_HIDDEN, R_HIDDEN, x);
    double *y = attend(&a, R_SEQ, R_SEQ, q, k, v);
    add_to(x, linear(e, block, "attention.output.dense", R_SEQ, R_HIDDEN, R_HIDDEN, y),
           R_SEQ * R_HIDDEN);
    x = norm(e, block, "attention.output.LayerNorm", d->eps, R_SEQ, R_HIDDEN, x);
    y = linear(e, block, "intermediate.dense", R_SEQ, R_HIDDEN, R_FFN, x);
    gelu(y, R_SEQ * R_FFN);
    add_to(x, linear(e, block, "output.dense", R_SEQ, R_FFN, R_HIDDEN, y), R_SEQ * R_HIDDEN);
    return norm(e, block, "output.LayerNorm", d->eps, R_SEQ, R_HIDDEN, x);
}

static double *bert_encode(const eval *e, const encoder *d, int row)
{
    double *x = bert_embed(e, d, tokens_of(e) + row * R_SEQ);
    return bert_block(e, d, 1, bert_block(e, d, 0, x));
}

static void roberta_is_what_it_says(void **state)
{
    (void)state;
    static const encoder d = { "roberta-base:layers=2,hidden=12,ffn=7,heads=3,vocab=9,positions=11,"
                               "classes=5,seq=6,batch=2",
                               "roberta.", 2, 1e-5 };
    eval e = run_model(d.spec);
    for (int row = 0; row < 2; row++)
        compare(&e, row, R_SEQ * R_CLASSES,
                linear(&e, "", "classifier", R_SEQ, R_HIDDEN, R_CLASSES, bert_encode(&e, &d, row)));
    eval_free(&e);
}

static void bert_is_what_it_says(void **state)
{
    (void)state;
    static const encoder d = { "bert-base:layers=2,hidden=12,ffn=7,heads=3,vocab=9,positions=8,"
                               "eps=0.01,seq=6,batch=2",
                               "bert.", 0, 0.01 };
    eval e = run_model(d.spec);
    const float *words = weight_of(&e, d.prefix, "embeddings.word_embeddings"),
                *bias = state_of(&e, "cls.predictions.bias");
    for (int row = 0; row < 2; row++) {
        double *x = linear(&e, "cls.predictions.transform.", "dense", R_SEQ, R_HIDDEN, R_HIDDEN,
                           bert_encode(&e, &d, row));
        gelu(x, R_SEQ * R_HIDDEN);
        x = norm(&e, "cls.predictions.transform.", "LayerNorm", d.eps, R_SEQ, R_HIDDEN, x);
        x = apply(words, R_SEQ, R_HIDDEN, R_VOCAB, x);
        for (int i = 0; i < R_SEQ * R_VOCAB; i++) x[i] += (double)bias[i % R_VOCAB];
        compare(&e, row, R_SEQ * R_VOCAB, x);
    }
    eval_free(&e);
}

/* -- ViT --------------------------------------------------------------------------------------- */

enum {
    V_PATCH = 2,
    V_SIDE = 3, /* patches */
    V_SIZE = V_PATCH * V_SIDE,
    V_SEQ = 1 + V_SIDE * V_SIDE,
    V_HIDDEN = 8,
    V_HEADS = 2,
    V_FFN = 5,
    V_CLASSES = 4
};

/* One number of a patch: its pixels, in the order of the weights [colours][rows][columns]. */
static double patch_number(const eval *e, const float *image, int patch, int out)
{
    const float *w = weight_of(e, "", "conv_proj") + out * 3 * V_PATCH * V_PATCH;
    double sum = (double)state_of(e, "conv_proj.bias")[out];
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < V_PATCH; r++)
            for (int s = 0; s < V_PATCH; s++) {
                int y = patch / V_SIDE * V_PATCH + r, x = patch % V_SIDE * V_PATCH + s;
                sum += (double)*w++ * (double)image[(y * V_SIZE + x) * 3 + c];
            }
    return sum;
}

static double *vit_embed(const eval *e, const float *image)
{
    const float *token = state_of(e, "class_token"), *places = state_of(e, "encoder.pos_embedding");
    double *x = zeros(V_SEQ * V_HIDDEN);
    for (int s = 0; s < V_SEQ; s++)
        for (int i = 0; i < V_HIDDEN; i++)
            x[s * V_HIDDEN + i] = (double)places[s * V_HIDDEN + i] +
                                  (s ? patch_number(e, image, s - 1, i) : (double)token[i]);
    return x;
}

/* Rows [part * V_HIDDEN, ...) of the weights of queries, keys and values. */
static double *vit_part(const eval *e, const char *block, int part, const double *x)
{
    const float *w = state_of(e, pl_arena_fmt(arena, "%sself_attention.in_proj_weight", block));
    const float *c = state_of(e, pl_arena_fmt(arena, "%sself_attention.in_proj_bias", block));
    double *y = apply(w + part * V_HIDDEN * V_HIDDEN, V_SEQ, V_HIDDEN, V_HIDDEN, x);
    for (int i = 0; i < V_SEQ * V_HIDDEN; i++) y[i] += (double)c[part * V_HIDDEN + i % V_HIDDEN];
    return y;
}

static void vit_block(const eval *e, const char *block, double *x)
{
    const heads a = { V_HEADS, 1, V_HIDDEN / V_HEADS, 1 / sqrt(V_HIDDEN / V_HEADS), false, NULL };
    double *y = norm(e, block, "ln_1", 1e-6, V_SEQ, V_HIDDEN, x);
    y = attend(&a, V_SEQ, V_SEQ, vit_part(e, block, 0, y), vit_part(e, block, 1, y),
               vit_part(e, block, 2, y));
    add_to(x, linear(e, block, "self_attention.out_proj", V_SEQ, V_HIDDEN, V_HIDDEN, y),
           V_SEQ * V_HIDDEN);
    y = norm(e, block, "ln_2", 1e-6, V_SEQ, V_HIDDEN, x);
    y = linear(e, block, "mlp.0", V_SEQ, V_HIDDEN, V_FFN, y);
    gelu(y, V_SEQ * V_FFN);
    add_to(x, linear(e, block, "mlp.3", V_SEQ, V_FFN, V_HIDDEN, y), V_SEQ * V_HIDDEN);
}

static void vit_is_what_it_says(void **state)
{
    (void)state;
    eval e = run_model("vit_b_16:layers=2,hidden=8,ffn=5,heads=2,patch=2,size=6,classes=4,batch=2");
    for (int row = 0; row < 2; row++) {
        double *x = vit_embed(&e, state_of(&e, "image") + row * V_SIZE * V_SIZE * 3);
        vit_block(&e, "encoder.layers.encoder_layer_0.", x);
        vit_block(&e, "encoder.layers.encoder_layer_1.", x);
        x = norm(&e, "", "encoder.ln", 1e-6, V_SEQ, V_HIDDEN, x);
        compare(&e, row, V_CLASSES, linear(&e, "", "heads.head", 1, V_HIDDEN, V_CLASSES, x));
    }
    eval_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(roberta_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bert_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vit_is_what_it_says, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
