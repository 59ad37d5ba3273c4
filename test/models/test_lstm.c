/* The LSTM against its formulas written out; the sizes of Tofu's RNNs. */
#include "built.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* A layer of width 3 on x [11][n_in], for one row. PyTorch orders the gates i, f, g, o. */
static void lstm_layer(const eval *e, int layer, int n_in, const double *x, double *y)
{
    enum { H = 3, STEPS = 11 };
    const char *part[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    const float *w[4];
    double c[H] = { 0 }, h[H] = { 0 }, in[4 * H], back[4 * H];
    for (int i = 0; i < 4; i++)
        w[i] = state_of(e, pl_arena_fmt(e->graph->arena, "rnn.%s_l%d", part[i], layer));
    for (int t = 0; t < STEPS; t++) {
        dense(n_in, 4 * H, false, w[0], w[2], x + t * n_in, in);
        dense(H, 4 * H, false, w[1], w[3], h, back);
        for (int k = 0; k < H; k++) {
            c[k] = sigmoid(in[H + k] + back[H + k]) * c[k] +
                   sigmoid(in[k] + back[k]) * tanh(in[2 * H + k] + back[2 * H + k]);
            h[k] = sigmoid(in[3 * H + k] + back[3 * H + k]) * tanh(c[k]);
        }
        memcpy(y + t * H, h, sizeof h);
    }
}

static void test_lstm(void **state)
{
    enum { ROWS = 2, STEPS = 11, EMBED = 4, HIDDEN = 3, VOCAB = 6 };
    (void)state;
    pl_arena *a = pl_arena_new("test");
    eval e =
        eval_new(build("lstm:layers=2,hidden=3,embed=4,vocab=6,seq=11,batch=2", PL_INFER, NULL, a));
    feed(&e, VOCAB);
    eval_run(&e, e.graph->nodes.n);
    const int32_t *tokens = e.at[pl_graph_find(e.graph, "tokens")->id];
    const float *table = state_of(&e, "encoder.weight"), *logits = state_of(&e, "logits");
    for (int r = 0; r < ROWS; r++) {
        double x[STEPS][EMBED], y[2][STEPS * HIDDEN], want[VOCAB];
        for (int t = 0; t < STEPS; t++)
            for (int k = 0; k < EMBED; k++)
                x[t][k] = (double)table[tokens[r * STEPS + t] * EMBED + k];
        lstm_layer(&e, 0, EMBED, x[0], y[0]);
        lstm_layer(&e, 1, HIDDEN, y[0], y[1]);
        for (int t = 0; t < STEPS; t++) {
            dense(HIDDEN, VOCAB, false, state_of(&e, "decoder.weight"),
                  state_of(&e, "decoder.bias"), y[1] + t * HIDDEN, want);
            for (int v = 0; v < VOCAB; v++)
                check_near((double)logits[(r * STEPS + t) * VOCAB + v], want[v], 1e-5);
        }
    }
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
        cmocka_unit_test(test_tofu_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
