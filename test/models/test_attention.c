/* LLaMA and T5: what they compute, against the same written out in doubles for one row at a time,
 * with random numbers in every weight; and their repeated blocks. */
#include "written.h"

#include "../program/training.h"
#include "graph/fold.h"

#include <stdio.h>

static double *normalise(const float *scale, double eps, int n, int width, const double *x)
{
    double *y = zeros(n * width);
    for (int s = 0; s < n; s++) {
        double square = 0;
        for (int i = 0; i < width; i++) square += x[s * width + i] * x[s * width + i];
        for (int i = 0; i < width; i++)
            y[s * width + i] = x[s * width + i] / sqrt(square / width + eps) * (double)scale[i];
    }
    return y;
}

/* -- LLaMA ------------------------------------------------------------------------------------- */

enum { L_SEQ = 7, L_HIDDEN = 24, L_HEADS = 6, L_KV = 2, L_WIDTH = 4, L_FFN = 10, L_VOCAB = 9 };

/* As complex numbers: the pair (x[i], x[i + half]) times e^(i position base^(-i / half)). */
static void rotate(double *x, int n_heads, double base)
{
    int half = L_WIDTH / 2;
    for (int s = 0; s < L_SEQ; s++)
        for (int h = 0; h < n_heads; h++)
            for (int i = 0; i < half; i++) {
                double *re = x + (s * n_heads + h) * L_WIDTH + i, *im = re + half;
                double size = hypot(*re, *im),
                       angle = atan2(*im, *re) + s / pow(base, 1.0 * i / half);
                *re = size * cos(angle), *im = size * sin(angle);
            }
}

static void llama_block(const eval *e, const char *block, double *x)
{
    const heads a = { L_HEADS, L_HEADS / L_KV, L_WIDTH, 1 / sqrt(L_WIDTH), true, NULL };
    double *y = normalise(weight_of(e, block, "input_layernorm"), 1e-5, L_SEQ, L_HIDDEN, x);
    double *q = apply(weight_of(e, block, "self_attn.q_proj"), L_SEQ, L_HIDDEN, L_HIDDEN, y);
    double *k = apply(weight_of(e, block, "self_attn.k_proj"), L_SEQ, L_HIDDEN, L_KV * L_WIDTH, y);
    double *v = apply(weight_of(e, block, "self_attn.v_proj"), L_SEQ, L_HIDDEN, L_KV * L_WIDTH, y);
    rotate(q, L_HEADS, 50);
    rotate(k, L_KV, 50);
    y = attend(&a, L_SEQ, L_SEQ, q, k, v);
    y = apply(weight_of(e, block, "self_attn.o_proj"), L_SEQ, L_HIDDEN, L_HIDDEN, y);
    add_to(x, y, L_SEQ * L_HIDDEN);
    y = normalise(weight_of(e, block, "post_attention_layernorm"), 1e-5, L_SEQ, L_HIDDEN, x);
    double *gate = apply(weight_of(e, block, "mlp.gate_proj"), L_SEQ, L_HIDDEN, L_FFN, y);
    double *up = apply(weight_of(e, block, "mlp.up_proj"), L_SEQ, L_HIDDEN, L_FFN, y);
    for (int i = 0; i < L_SEQ * L_FFN; i++) up[i] *= gate[i] / (1 + exp(-gate[i]));
    y = apply(weight_of(e, block, "mlp.down_proj"), L_SEQ, L_FFN, L_HIDDEN, up);
    add_to(x, y, L_SEQ * L_HIDDEN);
}

static void llama_is_what_it_says(void **state)
{
    (void)state;
    eval e =
        run_model("llama:layers=2,hidden=24,heads=6,kv=2,ffn=10,vocab=9,seq=7,base=50,batch=2");
    const int32_t *tokens = tokens_of(&e);
    for (int row = 0; row < 2; row++) {
        double *x =
            look_up(weight_of(&e, "", "model.embed_tokens"), L_SEQ, L_HIDDEN, tokens + row * L_SEQ);
        llama_block(&e, "model.layers.0.", x);
        llama_block(&e, "model.layers.1.", x);
        x = normalise(weight_of(&e, "", "model.norm"), 1e-5, L_SEQ, L_HIDDEN, x);
        x = apply(weight_of(&e, "", "lm_head"), L_SEQ, L_HIDDEN, L_VOCAB, x);
        compare(&e, row, L_SEQ * L_VOCAB, x);
    }
    eval_free(&e);
}

/* -- T5 ---------------------------------------------------------------------------------------- */

enum {
    T_SEQ = 19,
    T_HIDDEN = 10,
    T_HEADS = 3,
    T_WIDTH = 4,
    T_INNER = T_HEADS * T_WIDTH,
    T_FFN = 7,
    T_VOCAB = 9,
    T_BUCKETS = 8,
    T_LIMIT = 16
};

/* Buckets by their borders in whole numbers: own (limit / own)^(j / m) <= distance. */
static int find_bucket(int offset, bool both)
{
    int n = both ? T_BUCKETS / 2 : T_BUCKETS, own = n / 2, m = n - own, j = 0;
    int distance = offset < 0 ? -offset : both ? offset : 0, first = both && offset > 0 ? n : 0;
    if (distance < own) return first + distance;
    while (j + 1 < m && pow(distance, m) * pow(own, j + 1) >= pow(own, m) * pow(T_LIMIT, j + 1))
        j++;
    return first + own + j;
}

static double *make_bias(const eval *e, const char *stack, bool both)
{
    const float *table = weight_of(
        e, stack, "block.0.layer.0.SelfAttention.relative_attention_bias"); /* [buckets][heads] */
    double *bias = zeros(T_HEADS * T_SEQ * T_SEQ), *at = bias;
    for (int h = 0; h < T_HEADS; h++)
        for (int q = 0; q < T_SEQ; q++)
            for (int k = 0; k < T_SEQ; k++)
                *at++ = (double)table[find_bucket(k - q, both) * T_HEADS + h];
    return bias;
}

/* x += attention(norm(x), from), where from is NULL for the normalised x itself. */
static void t5_attention(const eval *e, const char *layer, const char *kind, const heads *a,
                         const double *from, double *x)
{
    const char *name = pl_arena_fmt(arena, "%s%s.", layer, kind);
    double *y = normalise(weight_of(e, layer, "layer_norm"), 1e-6, T_SEQ, T_HIDDEN, x);
    if (!from) from = y;
    double *q = apply(weight_of(e, name, "q"), T_SEQ, T_HIDDEN, T_INNER, y);
    double *k = apply(weight_of(e, name, "k"), T_SEQ, T_HIDDEN, T_INNER, from);
    double *v = apply(weight_of(e, name, "v"), T_SEQ, T_HIDDEN, T_INNER, from);
    y = apply(weight_of(e, name, "o"), T_SEQ, T_INNER, T_HIDDEN, attend(a, T_SEQ, T_SEQ, q, k, v));
    add_to(x, y, T_SEQ * T_HIDDEN);
}

static void t5_mlp(const eval *e, const char *layer, double *x)
{
    double *y = normalise(weight_of(e, layer, "layer_norm"), 1e-6, T_SEQ, T_HIDDEN, x);
    y = apply(weight_of(e, layer, "DenseReluDense.wi"), T_SEQ, T_HIDDEN, T_FFN, y);
    for (int i = 0; i < T_SEQ * T_FFN; i++) y[i] = y[i] > 0 ? y[i] : 0;
    y = apply(weight_of(e, layer, "DenseReluDense.wo"), T_SEQ, T_FFN, T_HIDDEN, y);
    add_to(x, y, T_SEQ * T_HIDDEN);
}

/* `encoded`: what the decoder reads, NULL for the encoder. */
static double *t5_stack(const eval *e, const char *stack, int blocks, const double *encoded,
                        double *x)
{
    const heads self = { T_HEADS, 1, T_WIDTH, 1, encoded != NULL, make_bias(e, stack, !encoded) };
    const heads cross = { T_HEADS, 1, T_WIDTH, 1, false, NULL };
    for (int i = 0; i < blocks; i++) {
        const char *block = pl_arena_fmt(arena, "%sblock.%d.", stack, i);
        t5_attention(e, pl_arena_fmt(arena, "%slayer.0.", block), "SelfAttention", &self, NULL, x);
        if (encoded)
            t5_attention(e, pl_arena_fmt(arena, "%slayer.1.", block), "EncDecAttention", &cross,
                         encoded, x);
        t5_mlp(e, pl_arena_fmt(arena, "%slayer.%d.", block, encoded ? 2 : 1), x);
    }
    return normalise(weight_of(e, stack, "final_layer_norm"), 1e-6, T_SEQ, T_HIDDEN, x);
}

static void t5_is_what_it_says(void **state)
{
    (void)state;
    eval e = run_model("t5:layers=1,decoder=2,hidden=10,ffn=7,heads=3,head=4,vocab=9,buckets=8,"
                       "limit=16,seq=19,batch=2");
    const float *table = weight_of(&e, "", "shared");
    const int32_t *tokens = tokens_of(&e);
    for (int row = 0; row < 2; row++) {
        double *x = look_up(table, T_SEQ, T_HIDDEN, tokens + row * T_SEQ);
        double *y = look_up(table, T_SEQ, T_HIDDEN, tokens + row * T_SEQ);
        x = t5_stack(&e, "encoder.", 1, NULL, x);
        y = t5_stack(&e, "decoder.", 2, x, y);
        for (int i = 0; i < T_SEQ * T_HIDDEN; i++) y[i] /= sqrt(T_HIDDEN);
        compare(&e, row, T_SEQ * T_VOCAB, apply(table, T_SEQ, T_HIDDEN, T_VOCAB, y));
    }
    eval_free(&e);
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* Every one of the first `blocks` blocks is an instance, in order, and holds the nodes of its
 * weights. */
static void check_class(const pl_graph *g, const pl_fold *f, int c, const char *scope, int blocks)
{
    if (f->at[c].n_instances != blocks)
        fail_msg("%s: class %d has %d instances, not %d", g->name, c, f->at[c].n_instances, blocks);
    int n_linear = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const pl_node *n = g->nodes.at[i];
        int block;
        const char *at = strstr(n->name, scope);
        if (n->of || at != n->name || strcmp(n->op->name, "einsum")) continue;
        if (sscanf(n->name + strlen(scope), "%d.", &block) != 1 || block >= blocks) continue;
        n_linear++;
        if (f->class_of[i] != c || f->instance_of[i] != block)
            fail_msg("%s: %s is in class %d, instance %d", g->name, n->name, f->class_of[i],
                     f->instance_of[i]);
    }
    assert_true(n_linear >= 6 * blocks);
}

static pl_fold fold_of(const pl_graph *g)
{
    pl_err err = { 0 };
    pl_fold f = pl_fold_find(g, arena);
    if (!pl_fold_check(g, &f, &err)) fail_msg("%s: %s", g->name, err.msg);
    return f;
}

static void blocks_of_llama_fold(void **state)
{
    (void)state;
    static const char *const types[] = { "f32", "bf16" };
    for (int t = 0; t < 2; t++) {
        const pl_graph *g = training_graph(
            pl_arena_fmt(arena, "llama:layers=8,hidden=64,ffn=96,dtype=%s", types[t]), arena);
        pl_fold f = fold_of(g);
        assert_int_equal(f.n_classes, 1);
        check_class(g, &f, 0, "model.layers.", 8);
    }
}

/* All but the last one, which adds nothing to the gradient of what they share, where four are. */
static void blocks_of_t5_fold(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int encoder, decoder;
    } rows[] = {
        { "t5:layers=6,hidden=64,ffn=96", 5, 5 },
        { "t5:layers=4,decoder=7,hidden=64,ffn=96", 3, 6 },
        { "t5:layers=8,decoder=3,hidden=64,ffn=96", 7, 3 },
        { "t5:layers=5,hidden=64,ffn=96,dtype=bf16", 4, 4 },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const pl_graph *g = training_graph(rows[r].spec, arena);
        pl_fold f = fold_of(g);
        if (f.n_classes != 2) fail_msg("%s: %d classes", rows[r].spec, f.n_classes);
        check_class(g, &f, 0, "encoder.block.", rows[r].encoder);
        check_class(g, &f, 1, "decoder.block.", rows[r].decoder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(llama_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(t5_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_llama_fold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_t5_fold, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
