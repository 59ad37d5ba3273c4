/* A language model of stacked LSTM layers, unrolled over the positions of a row, that start from
 * zeros. Of each layer
 *
 *   i, f, g, o = W_ih x_t + b_ih + W_hh h_t-1 + b_hh
 *   c_t = sigmoid(f) c_t-1 + sigmoid(i) tanh(g),  h_t = W_hr sigmoid(o) tanh(c_t)
 *
 * where without a projection there is no W_hr.
 * W_ih x_t needs no other position, so it is one product for all of them; then come the steps, all
 * equal, and what they give is put together again. So one value goes from layer to layer, and
 * layers of the same width fold into one.
 *
 * With `samples` a training step does not compare a word with all that there are, but with so many
 * drawn by Zipf's law, which are those of all rows of a group (Jean et al., "On using very large
 * target vocabulary", 2015): the softmax is over s(k) + log(k + 1), which makes up for how often
 * word k is drawn. Of both tables, then, a step reads few rows. word_lm is such a model; word_lm-1b
 * has the sizes of the "LSTM-2048-512" of Jozefowicz et al., "Exploring the limits of language
 * modeling", 2016, of two layers, on the 793,471 words of the One Billion Word Benchmark: 3,099.5
 * MiB of tables, as the LM of EmbRace (Yang et al., 2021).
 *
 * Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997, with the forget gates of Gers
 * et al., 2000; the defaults are the small model of Zaremba et al., "Recurrent neural network
 * regularization", 2014; weights are named and shaped as in PyTorch's example of a word language
 * model.
 *
 * rnn-L-H are L layers of width H over 20 steps, of Tofu (Wang et al., EuroSys 2019), who give no
 * width of the inputs. What their table 2 calls weights is, in GiB, three f32 copies (weight,
 * gradient, history) of (8 L - 4) H^2 parameters, so the first layer's input was narrow: 8.3, 18.6,
 * 33.0 (L=6, H=4096, 6144, 8192) where they have 8.4, 18.6, 33.0; 11.3, 25.3, 45.0 of 11.4, 28.5,
 * 45.3 (L=8); 14.3, 32.1, 57.0 of 14.4, 32.1, 57.0 (L=10). Their 28.5 fits no such count. */
#include "models/join.h"
#include "models/layers.h"
#include "models/list.h"
#include "models/sampled.h"
#include "ops/list.h"

#include <math.h>

typedef struct lstm {
    pl_layers l;              /* weights as PyTorch has them: uniform up to 1/sqrt(hidden) */
    int64_t seq, hidden, out; /* out: width of what a layer gives */
} lstm;

/* Of a layer; the projection may be NULL. */
enum { IH, HH, B_IH, B_HH, HR, N_WEIGHTS };

/* One step: x [b, 4 hidden] is what the input gives to the gates; c [b, hidden] and h [b, out]
 * change. Before the first both are NULL: what they would add is 0. */
static void take_step(lstm *m, pl_value *const w[], pl_value *x, pl_value **c, pl_value **h)
{
    pl_builder *b = m->l.b;
    pl_value *y = x;
    if (*h) {
        y = PL_ADD_AS(b, &pl_op_einsum, "hh", "bm,(gh)m->b(gh); g=4", *h, w[HH]);
        y = PL_ADD(b, &pl_op_add, "b(gh),b(gh)->b(gh); g=4", x, y);
    }
    pl_node *gate = pl_add_node(b, &pl_op_split, "gates", "b(gh)->bh,bh,bh,bh; g=4", 1,
                                (pl_value *const[]){ y });
    if (!gate) return;
    pl_value *i = PL_ADD(b, &pl_op_sigmoid, NULL, gate->out[0]);
    pl_value *f = *c ? PL_ADD(b, &pl_op_sigmoid, NULL, gate->out[1]) : NULL;
    pl_value *g = PL_ADD(b, &pl_op_tanh, NULL, gate->out[2]);
    pl_value *o = PL_ADD(b, &pl_op_sigmoid, NULL, gate->out[3]);
    pl_value *in = PL_ADD_AS(b, &pl_op_mul, f ? NULL : "c", NULL, i, g);
    *c = f ? PL_ADD_AS(b, &pl_op_add, "c", NULL, PL_ADD(b, &pl_op_mul, NULL, f, *c), in) : in;
    *h = PL_ADD_AS(b, &pl_op_mul, "h", NULL, o, PL_ADD(b, &pl_op_tanh, NULL, *c));
    if (w[HR]) *h = PL_ADD_AS(b, &pl_op_einsum, "hr", "bh,ph->bp", *h, w[HR]);
}

/* x [b, s, in] -> [b, s, out] */
static pl_value *layer(lstm *m, int64_t i, pl_value *x)
{
    pl_builder *b = m->l.b;
    if (!x) return NULL;
    pl_value **step = PL_NEW_N(b->graph->arena, pl_value *, m->seq), *c = NULL, *h = NULL;
    static const char *const names[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh",
                                         "weight_hr" };
    const int64_t gates = 4 * m->hidden;
    const pl_shape shape[] = { PL_SHAPE(gates, x->shape.dim[2]), PL_SHAPE(gates, m->out),
                               PL_SHAPE(gates), PL_SHAPE(gates), PL_SHAPE(m->out, m->hidden) };
    pl_value *w[N_WEIGHTS] = { 0 };
    for (int k = 0; k < (m->out == m->hidden ? HR : N_WEIGHTS); k++)
        w[k] = pl_layers_weight(&m->l, pl_builder_fmt(b, "rnn.%s_l%lld", names[k], (long long)i),
                                shape[k], NULL);
    pl_value *bias = PL_ADD(b, &pl_op_add, NULL, w[B_IH], w[B_HH]);
    x = PL_ADD_AS(b, &pl_op_einsum, pl_builder_fmt(b, "rnn.l%lld.ih", (long long)i),
                  "bsm,(gh)m->bs(gh); g=4", x, w[IH]);
    pl_join_split(b, PL_ADD(b, &pl_op_add, "bs(gh),(gh)->bs(gh); g=4", x, bias), m->seq, step);
    for (int64_t t = 0; t < m->seq && !b->err.code; t++) {
        b->scope = pl_builder_fmt(b, "rnn.l%lld.%lld.", (long long)i, (long long)t);
        take_step(m, w, step[t], &c, &h);
        step[t] = h;
    }
    b->scope = "";
    return pl_join_rows(b, step, m->seq);
}

/* The decoder has a bias, unless a training compares words with a few others. */
static void finish(lstm *m, const pl_model_args *args, pl_mode mode, pl_value *x)
{
    pl_builder *b = m->l.b;
    const pl_sampled sampled = { pl_model_int(args, "samples"), pl_model_int(args, "groups") };
    const pl_shape shape = PL_SHAPE(pl_model_int(args, "vocab"), m->out);
    if (sampled.n && mode == PL_TRAIN) {
        pl_sampled_finish(b, &sampled, pl_layers_weight(&m->l, "decoder.weight", shape, NULL), x);
        return;
    }
    x = pl_layers_linear(&m->l, "decoder", "bsm,vm->bsv", shape, NULL, x);
    if (!sampled.n)
        x = pl_layers_bias(&m->l, "decoder", "...v,v->...v", PL_SHAPE(shape.dim[0]), NULL, x);
    pl_model_finish(b, mode, x, "targets");
}

static void build(pl_builder *b, const pl_model_args *args, pl_mode mode)
{
    const int64_t hidden = pl_model_int(args, "hidden"), project = pl_model_int(args, "project"),
                  embed = pl_model_int(args, "embed");
    lstm m = { .l = pl_layers_new(b, args),
               .seq = pl_model_int(args, "seq"),
               .hidden = hidden,
               .out = project ? project : hidden };
    m.l.init = pl_layers_uniform(b, 1 / sqrt((double)m.hidden));
    pl_value *tokens = pl_model_tokens(b, args);
    pl_value *table = pl_layers_weight(&m.l, "encoder.weight",
                                       PL_SHAPE(pl_model_int(args, "vocab"), embed ? embed : m.out),
                                       "uniform a=0.1");
    pl_value *x = PL_ADD_AS(b, &pl_op_embedding, "encoder", NULL, table, tokens);
    for (int64_t i = 0; i < pl_model_int(args, "layers") && !b->err.code; i++) x = layer(&m, i, x);
    if (x) finish(&m, args, mode, x);
}

static const pl_model_key keys[] = {
    { "layers", "2", 1, "LSTM layers" },
    { "hidden", "200", 1, "width of a layer" },
    { "project", "0", 0, "width that a layer's output is projected to; 0: it is not" },
    { "embed", "0", 0, "width of a token; 0: of a layer's output" },
    { "vocab", "10000", 2, "tokens (bytes need 256)" },
    { "samples", "0", 0, "words that training tells a word from; 0: all" },
    { "groups", "1", 1, "of rows, each with its own samples; 2 and more can be split",
      .needs = "samples!=0" },
    { "seq", "20", 1, "steps: positions per row" },
    { "batch", "20", 1, "rows per step, over all devices" },
    PL_MODEL_DTYPE,
    { 0 },
};

#define TOFU(name, sizes)                                                                          \
    {                                                                                              \
        "rnn-" name, "Tofu's RNN-" name, sizes ",embed=256,vocab=256", "text", keys, build         \
    }

const pl_family pl_models_lstm[] = {
    { "lstm", "LSTM language model, 4.7M", NULL, "text", keys, build },
    { "word_lm", "LSTM language model of words, sampled softmax, 20M",
      "vocab=50000,samples=512,groups=8,batch=64", "text", keys, build },
    { "word_lm-1b", "the same, of the One Billion Word Benchmark, 0.8B",
      "hidden=2048,project=512,vocab=793471,samples=8192,groups=64,batch=2048", "text", keys,
      build },
    TOFU("4-8k", "layers=4,hidden=8192,batch=512"),
    TOFU("6-4k", "layers=6,hidden=4096,batch=512"),
    TOFU("10-8k", "layers=10,hidden=8192,batch=128"),
    { 0 },
};
