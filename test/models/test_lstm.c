/* The LSTM against its formulas written out; the sizes of Tofu's RNNs. */
#include "built.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

enum { ROWS = 2, STEPS = 11, EMBED = 4, HIDDEN = 3, VOCAB = 6 };

/* A layer of width 3 on x [11][n_in], for one row, that gives [11][n_out]: with a projection where
 * that is another width. PyTorch orders the gates i, f, g, o. */
static void lstm_layer(const eval *e, int layer, int n_in, int n_out, const double *x, double *y)
{
    enum { H = HIDDEN };
    const char *part[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr" };
    const float *w[5];
    double c[H] = { 0 }, h[H] = { 0 }, out[H] = { 0 }, in[4 * H], back[4 * H];
    for (int i = 0; i < (n_out == H ? 4 : 5); i++)
        w[i] = state_of(e, pl_arena_fmt(e->graph->arena, "rnn.%s_l%d", part[i], layer));
    for (int t = 0; t < STEPS; t++) {
        dense(n_in, 4 * H, false, w[0], w[2], x + t * n_in, in);
        dense(n_out, 4 * H, false, w[1], w[3], out, back);
        for (int k = 0; k < H; k++) {
            c[k] = sigmoid(in[H + k] + back[H + k]) * c[k] +
                   sigmoid(in[k] + back[k]) * tanh(in[2 * H + k] + back[2 * H + k]);
            h[k] = sigmoid(in[3 * H + k] + back[3 * H + k]) * tanh(c[k]);
        }
        memcpy(out, h, sizeof h);
        if (n_out != H) dense(H, n_out, false, w[4], NULL, h, out);
        memcpy(y + t * n_out, out, (size_t)n_out * sizeof *y);
    }
}

/* What `layers` layers give for row r: y [11][n_out]. */
static void run_row(const eval *e, int r, int layers, int n_out, double *y)
{
    const int32_t *tokens = e->at[pl_graph_find(e->graph, "tokens")->id];
    const float *table = state_of(e, "encoder.weight");
    double x[STEPS * EMBED];
    for (int t = 0; t < STEPS; t++)
        for (int k = 0; k < EMBED; k++)
            x[t * EMBED + k] = (double)table[tokens[r * STEPS + t] * EMBED + k];
    for (int i = 0; i < layers; i++) {
        lstm_layer(e, i, i ? n_out : EMBED, n_out, x, y);
        memcpy(x, y, (size_t)(STEPS * n_out) * sizeof *x);
    }
}

static void check_logits(const char *spec, int n_out)
{
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(build(spec, PL_INFER, NULL, a));
    feed(&e, VOCAB);
    eval_run(&e, e.graph->nodes.n);
    const float *logits = state_of(&e, "logits");
    for (int r = 0; r < ROWS; r++) {
        double y[STEPS * HIDDEN], want[VOCAB];
        run_row(&e, r, 2, n_out, y);
        for (int t = 0; t < STEPS; t++) {
            dense(n_out, VOCAB, false, state_of(&e, "decoder.weight"), state_of(&e, "decoder.bias"),
                  y + t * n_out, want);
            for (int v = 0; v < VOCAB; v++)
                check_near((double)logits[(r * STEPS + t) * VOCAB + v], want[v], 1e-5);
        }
    }
    eval_free(&e);
    pl_arena_free(a);
}

static void test_lstm(void **state)
{
    (void)state;
    check_logits("lstm:layers=2,hidden=3,embed=4,vocab=6,seq=11,batch=2", HIDDEN);
}

static void test_projection(void **state)
{
    (void)state;
    check_logits("lstm:layers=2,hidden=3,project=2,embed=4,vocab=6,seq=11,batch=2", 2);
}

/* -log of the share of a target among itself and the samples that are other words, each score less
 * the logarithm of how often the word is drawn, but for what is the same for all. */
static double sampled_loss(const eval *e, const double *y, int target, int n, const int32_t *sample)
{
    const float *table = state_of(e, "decoder.weight");
    double own = 0, sum = 0;
    for (int i = -1; i < n; i++) {
        const int word = i < 0 ? target : sample[i];
        double score = log(word + 1.0);
        for (int k = 0; k < HIDDEN; k++) score += (double)table[word * HIDDEN + k] * y[k];
        if (i < 0) own = score;
        if (i < 0 || word != target) sum += exp(score);
    }
    return log(sum) - own;
}

/* Each row is a group with samples of its own; they are words, and drawn anew by another seed. */
static void test_sampled(void **state)
{
    enum { SAMPLES = 5 };
    pl_arena *a = pl_arena_new("test");
    eval e = eval_new(build("word_lm:layers=1,hidden=3,embed=4,vocab=6,seq=11,batch=2,samples=5,"
                            "groups=2",
                            PL_TRAIN, NULL, a));
    const int32_t *targets = e.at[pl_graph_find(e.graph, "targets")->id];
    int64_t *seed = e.at[pl_graph_find(e.graph, "seed")->id];
    int32_t drawn[2][ROWS * SAMPLES];
    (void)state;
    feed(&e, VOCAB);
    for (*seed = 0; *seed < 2; ++*seed) {
        eval_run(&e, e.graph->nodes.n);
        const int32_t *sample = e.at[pl_graph_find(e.graph, "sampled.words")->id];
        double sum = 0;
        for (int r = 0; r < ROWS; r++) {
            double y[STEPS * HIDDEN];
            run_row(&e, r, 1, HIDDEN, y);
            for (int t = 0; t < STEPS; t++)
                sum += sampled_loss(&e, y + t * HIDDEN, targets[r * STEPS + t], SAMPLES,
                                    sample + r * SAMPLES);
        }
        for (int i = 0; i < ROWS * SAMPLES; i++) assert_in_range(sample[i], 0, VOCAB - 1);
        memcpy(drawn[*seed], sample, sizeof *drawn);
        check_near((double)*state_of(&e, "loss"), sum / (ROWS * STEPS), 1e-5);
    }
    assert_memory_not_equal(drawn[0], drawn[1], sizeof *drawn);
    eval_free(&e);
    pl_arena_free(a);
}

/* What Tofu (Wang et al., 2019, table 2) calls the weights of its RNNs: GiB of three f32 copies. */
static void test_tofu_weights(void **state)
{
    static const struct {
        const char *spec;
        double gib;
    } cases[] = {
        { "rnn-6-4k", 8.4 },
        { "rnn-6-4k:hidden=6144", 18.6 },
        { "rnn-6-4k:hidden=8192", 33.0 },
        { "rnn-6-4k:layers=8", 11.4 },
        { "rnn-10-8k:layers=8", 45.3 },
        { "rnn-6-4k:layers=10", 14.4 },
        { "rnn-10-8k:hidden=6144", 32.1 },
        { "rnn-10-8k", 57.0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_arena *a = pl_arena_new("test");
        const char *one = pl_model_with(a, cases[i].spec, "seq", "1"); /* as many, sooner */
        double gib = 3 * 4 * (double)pl_graph_params(build(one, PL_INFER, NULL, a)) / (1 << 30);
        check_near(gib, cases[i].gib, 0.012 * cases[i].gib);
        pl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_tofu_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
