/* Training graphs as scheduling problems: forward tape, mirrored backward, unfused Adam per weight.
 */
#ifndef PL_TEST_MEMORY_TRAIN_GRAPH_H
#define PL_TEST_MEMORY_TRAIN_GRAPH_H
#include "tasks.h"

typedef enum kind { MATMUL, BATCHED, UNARY, NORM, SUM } kind;

/* Values are numbers of `value`; params of an op are weights of those sizes, or 0. */
typedef struct value {
    int tensor, grad; /* grad: tensor, or -1 */
    int64_t bytes;
} value;

typedef struct op {
    kind kind;
    int in[2], out;
    int64_t weight[2];
} op;

typedef struct net_graph {
    tasks b;
    struct {
        value *at;
        int n, cap;
    } values;
    struct {
        op *at;
        int n, cap;
    } tape;
    int64_t params, largest; /* bytes of all weights, of the largest */
} net_graph;

static inline int add_value(net_graph *g, int tensor, int64_t bytes)
{
    value v = { tensor, -1, bytes };
    PL_PUSH(g->b.a, &g->values, v);
    return g->values.n - 1;
}

static inline int add_input(net_graph *g, int64_t bytes)
{
    return add_value(g, add_tensor(&g->b, bytes, PL_SCHEDULE_FROM_START), bytes);
}

static inline int add_op(net_graph *g, kind k, int x, int y, int64_t bytes, int64_t w0, int64_t w1)
{
    int t = add_task(&g->b);
    add_read(&g->b, t, g->values.at[x].tensor);
    if (y >= 0 && y != x) add_read(&g->b, t, g->values.at[y].tensor);
    int out = add_value(g, add_output(&g->b, t, bytes), bytes);
    op o = { k, { x, y }, out, { w0, w1 } };
    PL_PUSH(g->b.a, &g->tape, o);
    return out;
}

static inline int add_linear(net_graph *g, int x, int64_t bytes, int64_t weight, int64_t bias)
{
    return add_op(g, MATMUL, x, -1, bytes, weight, bias);
}

/* The gradient of a value: the first is it, a second is added to it. */
static inline void add_grad(net_graph *g, int v, int tensor)
{
    value *to = &g->values.at[v];
    if (to->grad >= 0) {
        int t = add_task(&g->b);
        add_read(&g->b, t, to->grad);
        add_read(&g->b, t, tensor);
        tensor = add_output(&g->b, t, to->bytes);
    }
    to->grad = tensor;
}

/* Unfused Adam with decoupled decay of the gradient's kind: ten element-wise tasks. At the third of
 * its transients the gradient, the root and the root's copy are live: 3 x bytes, the parameters, m
 * and v aside. */
static inline void add_adam(net_graph *g, int grad, int64_t bytes)
{
    enum { BOTH = PL_SCHEDULE_FROM_START | PL_SCHEDULE_TO_END };
    tasks *b = &g->b;
    int p = add_tensor(b, bytes, BOTH), m = add_tensor(b, 0, BOTH), v = add_tensor(b, 0, BOTH);
    int t[10], root, copy, update;
    g->params += bytes;
    g->largest = bytes > g->largest ? bytes : g->largest;
    for (int i = 0; i < 10; i++) t[i] = add_task(b);
    add_overwrite(b, t[0], m); /* m *= b1               */
    add_overwrite(b, t[1], m); /* m += (1 - b1) g       */
    add_read(b, t[1], grad);
    add_overwrite(b, t[2], v); /* v *= b2               */
    add_overwrite(b, t[3], v); /* v += (1 - b2) g g     */
    add_read(b, t[3], grad);
    add_read(b, t[4], v); /* root = sqrt(v)        */
    root = add_output(b, t[4], bytes);
    add_read(b, t[5], root); /* copy = root / c2      */
    copy = add_output(b, t[5], bytes);
    add_overwrite(b, t[6], copy); /* copy += eps        */
    add_read(b, t[7], copy);      /* update = m / copy     */
    add_read(b, t[7], m);
    update = add_output(b, t[7], bytes);
    add_overwrite(b, t[8], update); /* update += l g    */
    add_read(b, t[8], grad);
    add_overwrite(b, t[9], p); /* p -= lr update        */
    add_read(b, t[9], update);
}

static inline void add_weight_grad(net_graph *g, int dy, int x, int64_t bytes)
{
    if (bytes == 0) return;
    int t = add_task(&g->b);
    add_read(&g->b, t, dy);
    if (x >= 0) add_read(&g->b, t, x);
    add_adam(g, add_output(&g->b, t, bytes), bytes);
}

/* d(in[side]): reads dy and what the forward saved. */
static inline void add_input_grad(net_graph *g, const op *o, int dy, int side)
{
    const value *in = &g->values.at[o->in[side]];
    int t = add_task(&g->b), save = -1;
    if (o->kind == BATCHED) save = g->values.at[o->in[1 - side]].tensor;
    if (o->kind == UNARY) save = g->values.at[o->out].tensor;
    if (o->kind == NORM) save = in->tensor;
    add_read(&g->b, t, dy);
    if (save >= 0) add_read(&g->b, t, save);
    add_grad(g, o->in[side], add_output(&g->b, t, in->bytes));
}

/* The backward pass from the last op's value, which a loss task reads. Values below n_inputs want
 * no gradient. */
static inline pl_schedule_problem add_backward(net_graph *g, int n_inputs)
{
    int last = g->values.n - 1, loss = add_task(&g->b);
    add_read(&g->b, loss, g->values.at[last].tensor);
    g->values.at[last].grad = add_output(&g->b, loss, g->values.at[last].bytes);
    for (int i = g->tape.n - 1; i >= 0; i--) {
        op o = g->tape.at[i];
        int dy = g->values.at[o.out].grad;
        if (o.kind == SUM) {
            add_grad(g, o.in[0], dy);
            add_grad(g, o.in[1], dy);
            continue;
        }
        for (int side = 0; side < 2; side++)
            if (o.in[side] >= n_inputs) add_input_grad(g, &o, dy, side);
        add_weight_grad(g, dy, g->values.at[o.in[0]].tensor, o.weight[0]);
        add_weight_grad(g, dy, o.kind == NORM ? g->values.at[o.in[0]].tensor : -1, o.weight[1]);
    }
    return build(&g->b);
}

/* Layers of the given weights, each with its own activation size, ReLU between. */
static inline pl_schedule_problem make_chain(net_graph *g, int n, const int64_t weight[],
                                             const int64_t act[], bool skips)
{
    int x = add_input(g, act[0]), before = -1;
    for (int i = 0; i < n; i++) {
        int y = add_linear(g, x, act[i + 1], weight[i], weight[i] / 512 + 4);
        if (skips && before >= 0 && g->values.at[before].bytes == act[i + 1])
            y = add_op(g, SUM, y, before, act[i + 1], 0, 0);
        x = add_op(g, UNARY, y, -1, act[i + 1], 0, 0);
        before = x;
    }
    return add_backward(g, 1);
}

/* A GPT: embedding, layers of attention and MLP with residuals, a head of the vocabulary. */
static inline pl_schedule_problem make_gpt(net_graph *g, int layers, int64_t d, int64_t heads,
                                           int64_t seq, int64_t batch, int64_t vocab)
{
    int64_t h = 4 * batch * seq * d, s = 4 * batch * heads * seq * seq;
    int x = add_linear(g, add_input(g, 8 * batch * seq), h, 4 * vocab * d, 4 * seq * d);
    for (int l = 0; l < layers; l++) {
        int n = add_op(g, NORM, x, -1, h, 4 * d, 4 * d), part[3];
        for (int i = 0; i < 3; i++) part[i] = add_linear(g, n, h, 4 * d * d, 4 * d);
        int scores = add_op(g, BATCHED, part[0], part[1], s, 0, 0);
        int probs = add_op(g, UNARY, scores, -1, s, 0, 0);
        int mixed = add_op(g, BATCHED, probs, part[2], h, 0, 0);
        x = add_op(g, SUM, x, add_linear(g, mixed, h, 4 * d * d, 4 * d), h, 0, 0);
        n = add_op(g, NORM, x, -1, h, 4 * d, 4 * d);
        int wide = add_linear(g, n, 4 * h, 16 * d * d, 16 * d);
        wide = add_op(g, NORM, wide, -1, 4 * h, 0, 0); /* GELU keeps its input */
        x = add_op(g, SUM, x, add_linear(g, wide, h, 16 * d * d, 4 * d), h, 0, 0);
    }
    x = add_op(g, NORM, x, -1, h, 4 * d, 4 * d);
    x = add_linear(g, x, 4 * batch * seq * vocab, 4 * vocab * d, 0);
    add_op(g, UNARY, x, -1, 4 * batch * seq * vocab, 0, 0);
    return add_backward(g, 1);
}

/* Inverted residual blocks: wide, depthwise and narrow convolutions with norms, stages that halve
 * the image, squeeze-and-excite when asked; a classifier. */
static inline pl_schedule_problem make_mobile(net_graph *g, int stages, int blocks, int64_t batch,
                                              bool squeeze)
{
    int64_t side = 112, c = 16;
    int x = add_linear(g, add_input(g, 4 * batch * 3 * 224 * 224), 4 * batch * c * side * side,
                       4 * 27 * c, 0);
    for (int i = 0; i < stages * blocks; i++) {
        bool first = i % blocks == 0;
        int64_t in = c, before = side;
        if (first) {
            side = (side + 1) / 2;
            c = c * 3 / 2;
        }
        int64_t wide = 6 * in, big = 4 * batch * wide * before * before;
        int64_t mid = 4 * batch * wide * side * side, small = 4 * batch * c * side * side;
        int y = add_linear(g, x, big, 4 * in * wide, 0);
        y = add_op(g, NORM, y, -1, big, 4 * wide, 4 * wide);
        y = add_op(g, UNARY, y, -1, big, 0, 0);
        y = add_linear(g, y, mid, 36 * wide, 0);
        y = add_op(g, NORM, y, -1, mid, 4 * wide, 4 * wide);
        y = add_op(g, UNARY, y, -1, mid, 0, 0);
        if (squeeze) {
            int pool = add_op(g, SUM, y, y, 4 * batch * wide, 0, 0);
            g->tape.n--;
            op o = { NORM, { y, -1 }, pool, { 0, 0 } };
            PL_PUSH(g->b.a, &g->tape, o);
            int gate = add_linear(g, pool, batch * wide, wide * wide, wide);
            gate = add_op(g, UNARY, gate, -1, batch * wide, 0, 0);
            gate = add_linear(g, gate, 4 * batch * wide, wide * wide, 4 * wide);
            gate = add_op(g, UNARY, gate, -1, 4 * batch * wide, 0, 0);
            y = add_op(g, BATCHED, y, gate, mid, 0, 0);
        }
        y = add_linear(g, y, small, 4 * wide * c, 0);
        y = add_op(g, NORM, y, -1, small, 4 * c, 4 * c);
        x = first ? y : add_op(g, SUM, x, y, small, 0, 0);
    }
    x = add_linear(g, x, 4 * batch * 1280, 4 * c * 1280, 0);
    add_linear(g, x, 4 * batch * 1000, 4 * 1280 * 1000, 4000);
    return add_backward(g, 1);
}

/* Blocks of four parallel branches of one to four convolutions, summed. */
static inline pl_schedule_problem make_branches(net_graph *g, int blocks, int64_t act,
                                                int64_t weight)
{
    int x = add_linear(g, add_input(g, act), act, weight, 0);
    for (int i = 0; i < blocks; i++) {
        int branch[4];
        for (int k = 0; k < 4; k++) {
            int y = x;
            for (int j = 0; j <= k; j++) {
                int64_t bytes = j == k ? act : act * (1 + (k + j) % 3) / 2;
                y = add_linear(g, y, bytes, weight * (1 + k), 64);
                y = add_op(g, UNARY, y, -1, bytes, 0, 0);
            }
            branch[k] = y;
        }
        x = add_op(g, SUM, branch[0], branch[1], act, 0, 0);
        x = add_op(g, SUM, x, add_op(g, SUM, branch[2], branch[3], act, 0, 0), act, 0, 0);
    }
    return add_backward(g, 1);
}

/* An encoder that halves and a decoder that reads what the encoder kept at each depth. */
static inline pl_schedule_problem make_unet(net_graph *g, int depth, int64_t act, int64_t weight)
{
    int x = add_input(g, act), skip[16];
    for (int i = 0; i < depth; i++) {
        x = add_linear(g, x, act >> i, weight << i, 64);
        skip[i] = x = add_op(g, UNARY, x, -1, act >> i, 0, 0);
        x = add_op(g, NORM, x, -1, act >> (i + 1), 0, 0);
    }
    for (int i = depth; i-- > 0;) {
        x = add_linear(g, x, act >> i, weight << i, 64);
        x = add_op(g, BATCHED, x, skip[i], 2 * (act >> i), 0, 0);
        x = add_linear(g, x, act >> i, weight << i, 64);
        x = add_op(g, UNARY, x, -1, act >> i, 0, 0);
    }
    return add_backward(g, 1);
}

/* A recurrent net over `steps`: one weight, whose gradient is summed over the steps into a tensor
 * that a late generator clears. */
static inline pl_schedule_problem make_unrolled(net_graph *g, int steps, int64_t state,
                                                int64_t weight)
{
    tasks *b = &g->b;
    int *in = PL_NEW_N(b->a, int, steps), *out = PL_NEW_N(b->a, int, steps);
    for (int i = 0; i < steps; i++) {
        in[i] = add_tensor(b, state, PL_SCHEDULE_FROM_START);
        int t = add_task(b);
        add_read(b, t, in[i]);
        if (i > 0) add_read(b, t, out[i - 1]);
        out[i] = add_output(b, t, state);
    }
    int loss = add_task(b), sum = add_output(b, add_task(b), weight);
    add_read(b, loss, out[steps - 1]);
    int dy = add_output(b, loss, state);
    for (int i = steps; i-- > 0;) {
        int t = add_task(b);
        add_read(b, t, dy);
        add_read(b, t, out[i]);
        int inner = add_output(b, t, state);
        if (i > 0) {
            t = add_task(b);
            add_read(b, t, inner);
            dy = add_output(b, t, state);
        }
        t = add_task(b);
        add_read(b, t, inner);
        add_read(b, t, in[i]);
        if (i > 0) add_read(b, t, out[i - 1]);
        int part = add_output(b, t, weight);
        t = add_task(b);
        add_read(b, t, part);
        add_overwrite(b, t, sum);
    }
    add_adam(g, sum, weight);
    return build(b);
}

#endif
