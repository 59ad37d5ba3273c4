/* LLaMA, its relatives and T5: what they compute, against the same written out in doubles for one
 * row at a time, with random numbers in every weight; and their repeated blocks. */
#include "written.h"

#include "support/training.h"
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

enum { L_SEQ = 7, L_HIDDEN = 24, L_HEADS = 6, L_KV = 2, L_FFN = 10, L_VOCAB = 9 };

typedef struct decoder {
    const char *keys;
    int width;   /* of a head                         */
    int experts; /* 0: none                           */
    bool tied;
    double eps;
} decoder;

/* As complex numbers: the pair (x[i], x[i + half]) times e^(i position base^(-i / half)). */
static void rotate(double *x, int n_heads, int width, double base)
{
    int half = width / 2;
    for (int s = 0; s < L_SEQ; s++)
        for (int h = 0; h < n_heads; h++)
            for (int i = 0; i < half; i++) {
                double *re = x + (s * n_heads + h) * width + i, *im = re + half;
                double size = hypot(*re, *im),
                       angle = atan2(*im, *re) + s / pow(base, 1.0 * i / half);
                *re = size * cos(angle), *im = size * sin(angle);
            }
}

/* x of the layer, and its bias where it has one. */
static double *project(const eval *e, const char *block, const char *name, int in, int out,
                       const double *x)
{
    double *y = apply(weight_of(e, block, name), L_SEQ, in, out, x);
    const pl_value *c = pl_graph_find(e->graph, pl_arena_fmt(arena, "%s%s.bias", block, name));
    for (int i = 0; c && i < L_SEQ * out; i++) y[i] += (double)((float *)e->at[c->id])[i % out];
    return y;
}

/* Queries or keys in their heads, normed where the model does that. */
static double *turn(const eval *e, const decoder *d, const char *block, const char *what,
                    int n_heads, const double *x)
{
    const char *name = pl_arena_fmt(arena, "%sself_attn.%s_norm.weight", block, what);
    double *y = project(e, block, pl_arena_fmt(arena, "self_attn.%s_proj", what), L_HIDDEN,
                        n_heads * d->width, x);
    if (pl_graph_find(e->graph, name))
        y = normalise(state_of(e, name), d->eps, L_SEQ * n_heads, d->width, y);
    rotate(y, n_heads, d->width, 50);
    return y;
}

/* The feed-forward layer of n positions, by its three weights. */
static double *gated(const float *gate, const float *up, const float *down, int n, const double *x)
{
    double *a = apply(gate, n, L_HIDDEN, L_FFN, x), *y = apply(up, n, L_HIDDEN, L_FFN, x);
    for (int i = 0; i < n * L_FFN; i++) y[i] *= a[i] / (1 + exp(-a[i]));
    return apply(down, n, L_FFN, L_HIDDEN, y);
}

/* Of each token the two experts with the highest scores, weighed by the softmax of these two. */
static double *route(const eval *e, const decoder *d, const char *block, const double *x)
{
    const float *w[3];
    for (int i = 0; i < 3; i++)
        w[i] = weight_of(e, block, pl_arena_fmt(arena, "block_sparse_moe.experts.w%d", i + 1));
    double *y = zeros(L_SEQ * L_HIDDEN);
    for (int s = 0; s < L_SEQ; s++) {
        const double *one = x + s * L_HIDDEN;
        double *score =
            apply(weight_of(e, block, "block_sparse_moe.gate"), 1, L_HIDDEN, d->experts, one);
        int best[2] = { 0, -1 };
        for (int i = 1; i < d->experts; i++)
            if (score[i] > score[best[0]]) best[0] = i;
        for (int i = 0; i < d->experts; i++)
            if (i != best[0] && (best[1] < 0 || score[i] > score[best[1]])) best[1] = i;
        for (int k = 0; k < 2; k++) {
            const double *part =
                gated(w[0] + best[k] * L_FFN * L_HIDDEN, w[2] + best[k] * L_FFN * L_HIDDEN,
                      w[1] + best[k] * L_FFN * L_HIDDEN, 1, one);
            for (int i = 0; i < L_HIDDEN; i++)
                y[s * L_HIDDEN + i] += part[i] / (1 + exp(score[best[1 - k]] - score[best[k]]));
        }
    }
    return y;
}

static void llama_block(const eval *e, const decoder *d, const char *block, double *x)
{
    const heads a = { L_HEADS, L_HEADS / L_KV, d->width, 1 / sqrt(d->width), true, NULL };
    double *y = normalise(weight_of(e, block, "input_layernorm"), d->eps, L_SEQ, L_HIDDEN, x);
    double *q = turn(e, d, block, "q", L_HEADS, y), *k = turn(e, d, block, "k", L_KV, y);
    double *v = project(e, block, "self_attn.v_proj", L_HIDDEN, L_KV * d->width, y);
    y = attend(&a, L_SEQ, L_SEQ, q, k, v);
    y = project(e, block, "self_attn.o_proj", L_HEADS * d->width, L_HIDDEN, y);
    add_to(x, y, L_SEQ * L_HIDDEN);
    y = normalise(weight_of(e, block, "post_attention_layernorm"), d->eps, L_SEQ, L_HIDDEN, x);
    y = d->experts ? route(e, d, block, y)
                   : gated(weight_of(e, block, "mlp.gate_proj"), weight_of(e, block, "mlp.up_proj"),
                           weight_of(e, block, "mlp.down_proj"), L_SEQ, y);
    add_to(x, y, L_SEQ * L_HIDDEN);
}

static void llama_is_what_it_says(void **state)
{
    (void)state;
    static const decoder rows[] = {
        { "", 4, 0, false, 1e-5 },
        { ",eps=0.01,bias=1,tied=1", 4, 0, true, 0.01 },    /* as Qwen2 */
        { ",head=6,bias=2,qknorm=1", 6, 0, false, 1e-5 },   /* as Qwen3 */
        { ",experts=4,k=2,capacity=2", 4, 4, false, 1e-5 }, /* as Mixtral */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const decoder *d = &rows[i];
        eval e = run_model(pl_arena_fmt(arena,
                                        "llama:layers=2,hidden=24,heads=6,kv=2,ffn=10,vocab=9,"
                                        "seq=7,base=50,batch=2%s",
                                        d->keys));
        const int32_t *tokens = tokens_of(&e);
        for (int row = 0; row < 2; row++) {
            double *x = look_up(weight_of(&e, "", "model.embed_tokens"), L_SEQ, L_HIDDEN,
                                tokens + row * L_SEQ);
            llama_block(&e, d, "model.layers.0.", x);
            llama_block(&e, d, "model.layers.1.", x);
            x = normalise(weight_of(&e, "", "model.norm"), d->eps, L_SEQ, L_HIDDEN, x);
            x = apply(weight_of(&e, "", d->tied ? "model.embed_tokens" : "lm_head"), L_SEQ,
                      L_HIDDEN, L_VOCAB, x);
            compare(&e, row, L_SEQ * L_VOCAB, x);
        }
        eval_free(&e);
    }
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
    const double *in = normalise(weight_of(e, layer, "layer_norm"), 1e-6, T_SEQ, T_HIDDEN, x);
    bool gate = pl_graph_find(e->graph, pl_arena_fmt(arena, "%sDenseReluDense.wi_1.weight", layer));
    double *y = apply(weight_of(e, layer, gate ? "DenseReluDense.wi_0" : "DenseReluDense.wi"),
                      T_SEQ, T_HIDDEN, T_FFN, in);
    for (int i = 0; i < T_SEQ * T_FFN; i++)
        y[i] = gate ? 0.5 * y[i] * (1 + tanh(sqrt(2 / acos(-1)) * (y[i] + 0.044715 * pow(y[i], 3))))
               : y[i] > 0 ? y[i]
                          : 0;
    if (gate) {
        const double *up =
            apply(weight_of(e, layer, "DenseReluDense.wi_1"), T_SEQ, T_HIDDEN, T_FFN, in);
        for (int i = 0; i < T_SEQ * T_FFN; i++) y[i] *= up[i];
    }
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
    static const char *const keys[] = { "", ",gated=1,tied=0" }; /* the latter is T5 1.1 */
    for (int i = 0; i < 2; i++) {
        eval e =
            run_model(pl_arena_fmt(arena,
                                   "t5:layers=1,decoder=2,hidden=10,ffn=7,heads=3,head=4,vocab=9,"
                                   "buckets=8,limit=16,seq=19,batch=2%s",
                                   keys[i]));
        const float *table = weight_of(&e, "", "shared");
        const int32_t *tokens = tokens_of(&e);
        for (int row = 0; row < 2; row++) {
            double *x = look_up(table, T_SEQ, T_HIDDEN, tokens + row * T_SEQ);
            double *y = look_up(table, T_SEQ, T_HIDDEN, tokens + row * T_SEQ);
            x = t5_stack(&e, "encoder.", 1, NULL, x);
            y = t5_stack(&e, "decoder.", 2, x, y);
            for (int k = 0; !i && k < T_SEQ * T_HIDDEN; k++) y[k] /= sqrt(T_HIDDEN);
            compare(&e, row, T_SEQ * T_VOCAB,
                    apply(i ? weight_of(&e, "", "lm_head") : table, T_SEQ, T_HIDDEN, T_VOCAB, y));
        }
        eval_free(&e);
    }
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
