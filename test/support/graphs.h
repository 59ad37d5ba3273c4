/* test/support/graphs.h - small training steps by hand, and random ones. */
#ifndef PL_TEST_SUPPORT_GRAPHS_H
#define PL_TEST_SUPPORT_GRAPHS_H
#include "base/rng.h"
#include "graph/autodiff.h"
#include "models/model.h"
#include "ops/lib/all.h"
#include "ops/list.h"

#include <stdio.h>
#include <string.h>

static inline pl_graph *graph_done(pl_builder *b)
{
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_builder_done(b, &g, &err)) pl_bug(__FILE__, __LINE__, "%s", err.msg);
    return g;
}

static inline pl_value *weight(pl_builder *b, const char *name, pl_shape s)
{
    return pl_add_state(b, name, PL_F32, s, "normal std=0.5", PL_WEIGHT);
}

/* Gradients of the loss, and sgd with momentum on each weight. */
static inline void add_sgd(pl_builder *b, pl_value *loss, int n, pl_value *const w[])
{
    pl_value *grad[16], *lr = pl_add_input(b, "lr", PL_F32, PL_SCALAR);
    pl_value *one = pl_add_value(b, &pl_op_fill, "one", "->; value=1", 0, NULL);
    pl_autodiff(b, loss, n, w, grad);
    b->phase = PL_UPDATE;
    for (int i = 0; i < n && !b->err.code; i++) {
        if (!grad[i]) continue;
        pl_value *u = pl_add_state_of(b, w[i], PL_MOMENT, pl_builder_fmt(b, "%s.u", w[i]->name),
                                      "zeros");
        const char *name = pl_builder_fmt(b, "%s.update", w[i]->name);
        pl_node *x = pl_add_node(b, &pl_op_sgd, name, "; momentum=0.9", 5,
                                 (pl_value *const[]){ w[i], grad[i], u, lr, one });
        if (!x) return;
        w[i]->next = x->out[0];
        u->next = x->out[1];
    }
    b->phase = PL_FORWARD;
}

/* Two layers with bias and residual, mean square error: batch x 6. */
static inline pl_graph *make_mlp(pl_arena *a, int64_t batch)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "mlp");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(batch, 6));
    pl_value *t = pl_add_input(&b, "target", PL_F32, PL_SHAPE(batch, 6));
    pl_value *w1 = weight(&b, "w1", PL_SHAPE(6, 5)), *b1 = weight(&b, "b1", PL_SHAPE(5));
    pl_value *w2 = weight(&b, "w2", PL_SHAPE(5, 6)), *b2 = weight(&b, "b2", PL_SHAPE(6));
    pl_value *h = PL_ADD_AS(&b, &pl_op_einsum, "fc1", "mk,kn->mn", x, w1);
    h = PL_ADD_AS(&b, &pl_op_relu, "act", NULL, PL_ADD(&b, &pl_op_add, "mn,n->mn", h, b1));
    h = PL_ADD_AS(&b, &pl_op_einsum, "fc2", "mk,kn->mn", h, w2);
    h = PL_ADD_AS(&b, &pl_op_add, "residual", NULL, PL_ADD(&b, &pl_op_add, "mn,n->mn", h, b2), x);
    pl_value *d = PL_ADD_AS(&b, &pl_op_sub, "error", NULL, h, t);
    pl_value *sum = PL_ADD_AS(&b, &pl_op_einsum, "square", "mn,mn->", d, d);
    const char *mean = pl_builder_fmt(&b, "; value=%.17g", 1.0 / (double)(batch * 6));
    pl_value *loss = PL_ADD_AS(&b, &pl_op_scale, "mean", mean, sum);
    add_sgd(&b, loss, 4, (pl_value *const[]){ w1, b1, w2, b2 });
    pl_add_output(&b, "loss", loss);
    return graph_done(&b);
}

/* A table looked up and used again for the logits; adamw. */
static inline pl_graph *make_tied(pl_arena *a, int64_t batch)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "tied");
    pl_value *ids = pl_add_input(&b, "ids", PL_I32, PL_SHAPE(batch, 3));
    pl_value *lr = pl_add_input(&b, "lr", PL_F32, PL_SCALAR);
    pl_value *step = pl_add_input(&b, "step", PL_I64, PL_SCALAR);
    pl_value *table = weight(&b, "table", PL_SHAPE(4, 6)), *grad;
    pl_value *m = pl_add_state_of(&b, table, PL_MOMENT, "table.m", "zeros");
    pl_value *v = pl_add_state_of(&b, table, PL_MOMENT, "table.v", "zeros");
    pl_value *h = PL_ADD_AS(&b, &pl_op_embedding, "lookup", NULL, table, ids);
    h = PL_ADD_AS(&b, &pl_op_tanh, "act", NULL, h);
    pl_value *logits = PL_ADD_AS(&b, &pl_op_einsum, "logits", "bsh,vh->bsv", h, table);
    pl_model_finish(&b, PL_TRAIN, logits, "next");
    pl_value *one = pl_add_value(&b, &pl_op_fill, "one", "->; value=1", 0, NULL);
    pl_autodiff(&b, pl_graph_find(b.graph, "loss"), 1, &table, &grad);
    b.phase = PL_UPDATE;
    pl_node *x = pl_add_node(&b, &pl_op_adamw, "update", NULL, 7,
                             (pl_value *const[]){ table, grad, m, v, lr, step, one });
    if (x) table->next = x->out[0], m->next = x->out[1], v->next = x->out[2];
    return graph_done(&b);
}

/* States that are read again after they changed, swapped, changed twice, and looked at as another
 * shape: what the order of overwriting has to get right. */
static inline pl_graph *make_hazards(pl_arena *a, int64_t batch)
{
    pl_builder b = pl_builder_new(a, &pl_ops_all, "hazards");
    pl_value *x = pl_add_input(&b, "x", PL_F32, PL_SHAPE(batch, 4));
    pl_value *lr = pl_add_input(&b, "lr", PL_F32, PL_SCALAR);
    pl_value *one = pl_add_value(&b, &pl_op_fill, "one", "->; value=1", 0, NULL);
    pl_value *w = weight(&b, "w", PL_SHAPE(4)), *u = weight(&b, "u", PL_SHAPE(4));
    pl_value *p = weight(&b, "p", PL_SHAPE(2, 2)), *q = weight(&b, "q", PL_SHAPE(2, 2));
    pl_value *v = weight(&b, "v", PL_SHAPE(4)), *k = weight(&b, "kept", PL_SHAPE(4));
    pl_value *g = PL_ADD_AS(&b, &pl_op_reduce_sum, "g", "bn->n", x);
    pl_node *up = pl_add_node(&b, &pl_op_sgd, "up", "; momentum=0.5", 5,
                              (pl_value *const[]){ w, g, u, lr, one });
    pl_node *fork = pl_add_node(&b, &pl_op_sgd, "fork", "; momentum=0.1", 5,
                                (pl_value *const[]){ w, g, u, lr, one });
    if (!up || !fork) return graph_done(&b);
    pl_value *view = PL_ADD_AS(&b, &pl_op_reshape, "view", "(ab)->ab; a=2", w);
    pl_value *old = PL_ADD_AS(&b, &pl_op_relu, "old", NULL, view);
    pl_value *moved = PL_ADD_AS(&b, &pl_op_sub, "moved", NULL, up->out[0], w);
    pl_value *const changed[] = { up->out[0], fork->out[0], up->out[1], lr, one };
    pl_node *twice = pl_add_node(&b, &pl_op_sgd, "twice", NULL, 5, changed);
    if (!twice) return graph_done(&b);
    w->next = twice->out[0];
    u->next = twice->out[1];
    p->next = q; /* p and q swap */
    q->next = p;
    v->next = g; /* a state that takes what was made for others */
    pl_node *spare = pl_add_node(&b, &pl_op_sgd, "spare", NULL, 5,
                                 (pl_value *const[]){ k, g, v, lr, one });
    if (!spare) return graph_done(&b);
    pl_add_output(&b, "old_out", old);
    pl_add_output(&b, "moved_out", moved);
    pl_add_output(&b, "fork_out", fork->out[0]);
    pl_add_output(&b, "spare_out", spare->out[0]);
    pl_add_output(&b, "view_out", view);
    pl_add_output(&b, "w_old", w);
    pl_add_output(&b, "p", p);
    return graph_done(&b);
}

/* -- random ones ------------------------------------------------------------------------------- */

/* A random graph, and what is left out of it: a failing one is made smaller so. */
typedef struct recipe {
    uint64_t seed;
    int64_t size[3];   /* of the letters a, b, c of the inputs                    */
    int n_steps;
    uint32_t dropped;  /* bit per step                                            */
    uint32_t silent;   /* bit per output but the loss, and 1 << 31: no updates    */
} recipe;

enum { NO_UPDATES = 31, MOST_STEPS = 14, MOST_OUTPUTS = 5 };

typedef struct sketch {
    pl_builder b;
    uint64_t seed, drawn;
    int step;          /* whose numbers are drawn */
    int64_t size[26];  /* of each letter          */
    char made_of[26][2]; /* letters that one is composed of */
    int n_letters, n, n_weights;
    struct {
        pl_value *value;
        char letters[9];
    } at[64];          /* values so far  */
    pl_value *weight[16];
} sketch;

static inline int draw(sketch *s, int below)
{
    pl_rng r = pl_rng_at(s->seed, 100 + (uint64_t)s->step);
    return (int)pl_rng_below(r, s->drawn++, (uint64_t)below);
}

/* Each step draws numbers of its own: without one the others stay as they are. */
static inline void draw_for(sketch *s, int step)
{
    s->step = step;
    s->drawn = 0;
}

static inline void keep(sketch *s, pl_value *v, const char *letters)
{
    s->at[s->n].value = v;
    memmove(s->at[s->n++].letters, letters, strlen(letters) + 1);
}

static inline pl_shape shape_of_letters(const sketch *s, const char *letters)
{
    pl_shape x = { 0 };
    for (; *letters; letters++) x.dim[x.rank++] = s->size[*letters - 'a'];
    return x;
}

/* A weight with one of the letters of a value and one that is new: the product swaps them. */
static inline void add_product(sketch *s, int k)
{
    const char *x = s->at[k].letters;
    size_t n = strlen(x);
    if (s->n_weights == 8 || s->n_letters > 20 || !n) return;
    char old = x[draw(s, (int)n)], fresh = (char)('a' + s->n_letters), out[9], w[3];
    s->size[s->n_letters++] = (int64_t[]){ 1, 2, 3, 4, 5, 6, 7, 8 }[draw(s, 8)];
    snprintf(out, sizeof out, "%s", x);
    *strchr(out, old) = fresh;
    bool turned = draw(s, 2);
    snprintf(w, sizeof w, "%c%c", turned ? fresh : old, turned ? old : fresh);
    pl_value *v = weight(&s->b, pl_builder_fmt(&s->b, "w%d", s->n_weights), shape_of_letters(s, w));
    s->weight[s->n_weights++] = v;
    keep(s, PL_ADD(&s->b, &pl_op_einsum, pl_builder_fmt(&s->b, "%s,%s->%s", x, w, out),
                   s->at[k].value, v), out);
}

/* Two values of the same letters, or a weight repeated over all but one of them. */
static inline void add_pair(sketch *s, int k)
{
    const pl_op *op = (const pl_op *[]){ &pl_op_add, &pl_op_mul, &pl_op_sub }[draw(s, 3)];
    const char *x = s->at[k].letters;
    for (int i = draw(s, s->n), tries = 0; tries < s->n; tries++, i = (i + 1) % s->n) {
        if (strcmp(s->at[i].letters, x) || i == k) continue;
        keep(s, PL_ADD(&s->b, op, NULL, s->at[k].value, s->at[i].value), x);
        return;
    }
    if (s->n_weights == 8 || !*x) return;
    char w[2] = { x[draw(s, (int)strlen(x))], 0 };
    pl_value *v = weight(&s->b, pl_builder_fmt(&s->b, "w%d", s->n_weights), shape_of_letters(s, w));
    s->weight[s->n_weights++] = v;
    keep(s, PL_ADD(&s->b, op, pl_builder_fmt(&s->b, "%s,%s->%s", x, w, x), s->at[k].value, v), x);
}

/* The first composite dimension becomes the two that it was made of. */
static inline void take_apart(sketch *s, int k)
{
    const char *x = s->at[k].letters;
    char out[9], spec[40];
    int i = 0;
    while (x[i] && !s->made_of[x[i] - 'a'][0]) i++;
    if (!x[i] || strlen(x) > 6) return;
    const char *two = s->made_of[x[i] - 'a'];
    snprintf(out, sizeof out, "%.*s%c%c%s", i, x, two[0], two[1], x + i + 1);
    snprintf(spec, sizeof spec, "%.*s(%c%c)%s->%s; %c=%d", i, x, two[0], two[1], x + i + 1, out,
             two[0], (int)s->size[two[0] - 'a']);
    for (int j = 0; out[j]; j++)
        if (strchr(out + j + 1, out[j])) return;
    keep(s, PL_ADD(&s->b, &pl_op_reshape, spec, s->at[k].value), out);
}

static inline void add_single(sketch *s, int k)
{
    const char *x = s->at[k].letters;
    int n = (int)strlen(x), i = n ? draw(s, n) : 0;
    char out[9], spec[40];
    pl_value *v = s->at[k].value;
    snprintf(out, sizeof out, "%s", x);
    switch (draw(s, 9)) {
    case 0: keep(s, PL_ADD(&s->b, &pl_op_relu, NULL, v), x); return;
    case 1: keep(s, PL_ADD(&s->b, &pl_op_tanh, NULL, v), x); return;
    case 2: keep(s, PL_ADD(&s->b, &pl_op_scale, "; value=0.5", v), x); return;
    case 3:
        if (n) keep(s, PL_ADD(&s->b, &pl_op_softmax, NULL, v), x);
        return;
    case 4: /* sum one letter away, which may leave none */
        if (!n) return;
        memmove(out + i, out + i + 1, strlen(out + i));
        snprintf(spec, sizeof spec, "%s->%s", x, out);
        keep(s, PL_ADD(&s->b, &pl_op_reduce_sum, spec, v), out);
        return;
    case 5:
        if (n < 2) return;
        out[0] = x[n - 1], out[n - 1] = x[0];
        snprintf(spec, sizeof spec, "%s->%s", x, out);
        keep(s, PL_ADD(&s->b, &pl_op_transpose, spec, v), out);
        return;
    case 6:
    case 7: take_apart(s, k); return;
    default: /* the first two letters become one dimension */
        if (n < 2 || s->n_letters > 20) return;
        snprintf(spec, sizeof spec, "%s->(%c%c)%s", x, x[0], x[1], x + 2);
        snprintf(out, sizeof out, "%c%s", 'a' + s->n_letters, x + 2);
        s->made_of[s->n_letters][0] = x[0], s->made_of[s->n_letters][1] = x[1];
        s->size[s->n_letters++] = s->size[x[0] - 'a'] * s->size[x[1] - 'a'];
        keep(s, PL_ADD(&s->b, &pl_op_reshape, spec, v), out);
    }
}

static inline void add_output(sketch *s, const recipe *r, int k, const char *name, pl_value *v)
{
    if (v && !(r->silent >> k & 1)) pl_add_output(&s->b, name, v);
}

/* Outputs of all kinds: values of any shape, integers, a maximum, weights before and after. */
static inline void add_outputs(sketch *s, const recipe *r, pl_value *ids)
{
    for (int i = 0; i < 2; i++) {
        pl_value *v = s->at[draw(s, s->n)].value;
        if (v && v->maker) add_output(s, r, i, v->name, v);
    }
    const char *x = s->at[s->n - 1].letters;
    if (!(r->silent >> 2 & 1)) {
        pl_value *top = PL_ADD(&s->b, &pl_op_reduce_max, pl_builder_fmt(&s->b, "%s->", x),
                               s->at[s->n - 1].value);
        top = PL_ADD(&s->b, &pl_op_scale, "; value=2", top); /* linear, but not in a maximum */
        add_output(s, r, 2, "top", top);
    }
    add_output(s, r, 3, "ids_out", ids);
    int which = draw(s, 4);
    pl_value *w = s->n_weights ? s->weight[0] : NULL;
    if (!w || which > 2 || r->silent >> 4 & 1) return;
    if (which == 0 && w->next)
        add_output(s, r, 4, "moved", PL_ADD(&s->b, &pl_op_sub, NULL, w->next, w));
    else add_output(s, r, 4, "w_out", which == 1 && w->next ? w->next : w);
}

static inline recipe random_recipe(uint64_t seed)
{
    sketch s = { .seed = seed };
    recipe r = { .seed = seed, .n_steps = 4 };
    draw_for(&s, -1);
    r.n_steps += draw(&s, MOST_STEPS - 4);
    r.size[0] = (int64_t[]){ 12, 12, 7, 10, 5 }[draw(&s, 5)];
    r.size[1] = (int64_t[]){ 2, 4, 6, 3, 5 }[draw(&s, 5)];
    r.size[2] = (int64_t[]){ 4, 4, 3, 1, 6 }[draw(&s, 5)];
    return r;
}

static inline pl_graph *make_recipe(pl_arena *a, const recipe *r)
{
    sketch s = { .b = pl_builder_new(a, &pl_ops_all, "random"), .seed = r->seed };
    memcpy(s.size, r->size, sizeof r->size);
    s.n_letters = 3;
    keep(&s, pl_add_input(&s.b, "x", PL_F32, shape_of_letters(&s, "abc")), "abc");
    keep(&s, pl_add_input(&s.b, "y", PL_F32, shape_of_letters(&s, "ac")), "ac");
    pl_value *ids = pl_add_input(&s.b, "ids", PL_I32, shape_of_letters(&s, "ba"));
    for (int i = 0; i < r->n_steps; i++) {
        if (r->dropped >> i & 1) continue;
        draw_for(&s, i);
        int k = draw(&s, 3) ? s.n - 1 : draw(&s, s.n), kind = draw(&s, 4);
        if (kind == 0) add_product(&s, k);
        else if (kind == 1) add_pair(&s, k);
        else add_single(&s, k);
    }
    const char *x = s.at[s.n - 1].letters;
    pl_value *loss = s.at[s.n - 1].value;
    draw_for(&s, MOST_STEPS);
    if (*x) loss = PL_ADD_AS(&s.b, &pl_op_reduce_sum, "sum", pl_builder_fmt(&s.b, "%s->", x), loss);
    loss = PL_ADD_AS(&s.b, &pl_op_scale, "mean", "; value=0.01", loss);
    if (s.n_weights && !(r->silent >> NO_UPDATES & 1)) add_sgd(&s.b, loss, s.n_weights, s.weight);
    pl_add_output(&s.b, "loss", loss);
    add_outputs(&s, r, ids);
    return graph_done(&s.b);
}

static inline pl_graph *make_random(pl_arena *a, uint64_t seed)
{
    recipe r = random_recipe(seed);
    return make_recipe(a, &r);
}

#endif
