/* Gemma's and Phi-3's decoders, which are keys of llama: what they compute, against the same
 * written out in doubles for one row at a time, with random numbers in every weight. */
#include "written.h"

enum { SEQ = 7, HIDDEN = 24, FFN = 10, VOCAB = 9, WIDTH = 6, WINDOW = 3 };

/* x / rms(x) times the weight, or 1 + the weight. */
static double *normalise(const float *weight, double from, int n, int width, const double *x)
{
    double *y = zeros(n * width);
    for (int s = 0; s < n; s++) {
        double square = 0;
        for (int i = 0; i < width; i++) square += x[s * width + i] * x[s * width + i];
        for (int i = 0; i < width; i++)
            y[s * width + i] =
                x[s * width + i] / sqrt(square / width + 1e-5) * (from + (double)weight[i]);
    }
    return y;
}

/* Of the first `part` numbers of a head the halves turn, pair i at position s by s / period[i]. */
static void rotate(double *x, int n_heads, int part, const double *period, double scale)
{
    for (int at = 0; at < SEQ * n_heads; at++)
        for (int i = 0; i < part / 2; i++) {
            double *low = x + at * WIDTH + i, *high = low + part / 2;
            double angle = at / n_heads / period[i], a = *low, b = *high;
            *low = scale * (a * cos(angle) - b * sin(angle));
            *high = scale * (b * cos(angle) + a * sin(angle));
        }
}

/* -- Gemma 3, with the caps of Gemma 2 --------------------------------------------------------- */

enum { G_HEADS = 4, G_KV = 2 };

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/* Queries or keys in their heads: normed, then turned. */
static double *gemma_turn(const eval *e, const char *block, const char *what, int n, double base,
                          const double *x)
{
    const double period[] = { 1, pow(base, 1. / 3), pow(base, 2. / 3) };
    const char *name = pl_arena_fmt(arena, "self_attn.%s", what);
    double *y =
        apply(weight_of(e, block, pl_arena_fmt(arena, "%s_proj", name)), SEQ, HIDDEN, n * WIDTH, x);
    y = normalise(weight_of(e, block, pl_arena_fmt(arena, "%s_norm", name)), 1, SEQ * n, WIDTH, y);
    rotate(y, n, WIDTH, period, 1);
    return y;
}

static void gemma_block(const eval *e, int layer, double *x)
{
    const char *block = pl_arena_fmt(arena, "model.layers.%d.", layer);
    bool local = layer % 3 < 2;
    const double base = local ? 20 : 50;
    const heads a = {
        G_HEADS, G_HEADS / G_KV, WIDTH, 1 / sqrt(5), true, NULL, local ? WINDOW : 0, 2
    };
    double *y = normalise(weight_of(e, block, "input_layernorm"), 1, SEQ, HIDDEN, x);
    double *q = gemma_turn(e, block, "q", G_HEADS, base, y);
    double *k = gemma_turn(e, block, "k", G_KV, base, y);
    y = attend(&a, SEQ, SEQ, q, k,
               apply(weight_of(e, block, "self_attn.v_proj"), SEQ, HIDDEN, G_KV * WIDTH, y));
    y = apply(weight_of(e, block, "self_attn.o_proj"), SEQ, G_HEADS * WIDTH, HIDDEN, y);
    add_to(x, normalise(weight_of(e, block, "post_attention_layernorm"), 1, SEQ, HIDDEN, y),
           SEQ * HIDDEN);
    y = normalise(weight_of(e, block, "pre_feedforward_layernorm"), 1, SEQ, HIDDEN, x);
    double *gate = apply(weight_of(e, block, "mlp.gate_proj"), SEQ, HIDDEN, FFN, y);
    double *up = apply(weight_of(e, block, "mlp.up_proj"), SEQ, HIDDEN, FFN, y);
    for (int i = 0; i < SEQ * FFN; i++) up[i] *= gelu(gate[i]);
    y = apply(weight_of(e, block, "mlp.down_proj"), SEQ, FFN, HIDDEN, up);
    add_to(x, normalise(weight_of(e, block, "post_feedforward_layernorm"), 1, SEQ, HIDDEN, y),
           SEQ * HIDDEN);
}

static void gemma_is_what_it_says(void **state)
{
    (void)state;
    eval e = run_model("llama:layers=4,hidden=24,heads=4,kv=2,head=6,ffn=10,vocab=9,seq=7,base=50,"
                       "batch=2,act=gelu_tanh,tied=1,scaled=1,from_one=1,sandwich=1,qknorm=1,"
                       "query_scalar=5,cap=2.0,logit_cap=3.0,window=3,windows=wwf,local_base=20");
    const float *table = weight_of(&e, "", "model.embed_tokens");
    for (int row = 0; row < 2; row++) {
        double *x = look_up(table, SEQ, HIDDEN, tokens_of(&e) + row * SEQ);
        for (int i = 0; i < SEQ * HIDDEN; i++) x[i] *= sqrt(HIDDEN);
        for (int i = 0; i < 4; i++) gemma_block(&e, i, x);
        x = normalise(weight_of(&e, "", "model.norm"), 1, SEQ, HIDDEN, x);
        x = apply(table, SEQ, HIDDEN, VOCAB, x);
        for (int i = 0; i < SEQ * VOCAB; i++) x[i] = 3 * tanh(x[i] / 3);
        compare(&e, row, SEQ * VOCAB, x);
    }
    eval_free(&e);
}

/* -- Phi-3 ------------------------------------------------------------------------------------- */

enum { P_HEADS = 4, PART = 4 };

/* Columns [at, at + n) of the rows of x, which are `width` wide. */
static double *columns(const double *x, int width, int at, int n)
{
    double *y = zeros(SEQ * n);
    for (int i = 0; i < SEQ * n; i++) y[i] = x[i / n * width + at + i % n];
    return y;
}

static void phi_block(const eval *e, const char *block, int kv, const double *period, double *x)
{
    const heads a = { P_HEADS, P_HEADS / kv, WIDTH, 1 / sqrt(WIDTH), true, NULL, WINDOW, 0 };
    const int all = (P_HEADS + 2 * kv) * WIDTH;
    double *y = normalise(weight_of(e, block, "input_layernorm"), 0, SEQ, HIDDEN, x);
    y = apply(weight_of(e, block, "self_attn.qkv_proj"), SEQ, HIDDEN, all, y);
    double *q = columns(y, all, 0, P_HEADS * WIDTH);
    double *k = columns(y, all, P_HEADS * WIDTH, kv * WIDTH);
    rotate(q, P_HEADS, PART, period, 1.5);
    rotate(k, kv, PART, period, 1.5);
    y = attend(&a, SEQ, SEQ, q, k, columns(y, all, (P_HEADS + kv) * WIDTH, kv * WIDTH));
    add_to(x, apply(weight_of(e, block, "self_attn.o_proj"), SEQ, P_HEADS * WIDTH, HIDDEN, y),
           SEQ * HIDDEN);
    y = normalise(weight_of(e, block, "post_attention_layernorm"), 0, SEQ, HIDDEN, x);
    y = apply(weight_of(e, block, "mlp.gate_up_proj"), SEQ, HIDDEN, 2 * FFN, y);
    double *gate = columns(y, 2 * FFN, 0, FFN), *up = columns(y, 2 * FFN, FFN, FFN);
    for (int i = 0; i < SEQ * FFN; i++) up[i] *= gate[i] / (1 + exp(-gate[i]));
    add_to(x, apply(weight_of(e, block, "mlp.down_proj"), SEQ, FFN, HIDDEN, up), SEQ * HIDDEN);
}

static void phi_is_what_it_says(void **state)
{
    (void)state;
    static const struct {
        int kv, original;
        double period[2]; /* sqrt(50) is that of the second pair, without the factors */
    } rows[] = {
        { P_HEADS, 7, { 1, 2 * 7.0710678118654755 } }, /* seq=7 positions are trained */
        { 2, 6, { 1.25, 4 * 7.0710678118654755 } },    /* and here not                */
    };
    for (int i = 0; i < 2; i++) {
        eval e = run_model(pl_arena_fmt(
            arena,
            "llama:layers=2,hidden=24,heads=4,kv=%d,head=6,ffn=10,vocab=9,seq=7,base=50,batch=2,"
            "fused=1,rotary=4,window=3,rope=longrope,rope_original=%d,rope_short=1/2.0,"
            "rope_long=1.25/4.0,rope_scale=1.5",
            rows[i].kv, rows[i].original));
        for (int row = 0; row < 2; row++) {
            double *x = look_up(weight_of(&e, "", "model.embed_tokens"), SEQ, HIDDEN,
                                tokens_of(&e) + row * SEQ);
            phi_block(&e, "model.layers.0.", rows[i].kv, rows[i].period, x);
            phi_block(&e, "model.layers.1.", rows[i].kv, rows[i].period, x);
            x = normalise(weight_of(&e, "", "model.norm"), 0, SEQ, HIDDEN, x);
            compare(&e, row, SEQ * VOCAB,
                    apply(weight_of(&e, "", "lm_head"), SEQ, HIDDEN, VOCAB, x));
        }
        eval_free(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gemma_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(phi_is_what_it_says, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
