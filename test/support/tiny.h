/* Random small training graphs, stacks of equal blocks, meshes and speeds. */
#ifndef PL_TEST_SUPPORT_TINY_H
#define PL_TEST_SUPPORT_TINY_H
#include "support/draw.h"
#include "graph/autodiff.h"
#include "graph/fold.h"
#include "ops/lib/all.h"
#include "ops/list.h"
#include "placement/speed.h"

#include <math.h>

/* A graph, its fold, and a mesh to plan it on. */
typedef struct world {
    lot r;
    pl_arena *arena;
    const pl_graph *graph;
    pl_fold fold;
    pl_mesh *mesh;
    pl_speed speed;
} world;

/* -- graphs ------------------------------------------------------------------------------------ */

static inline double draw_power(lot *r, double low, double high) /* of ten */
{
    return pow(10, low + (high - low) * pl_rng_uniform(r->rng, r->drawn++));
}

enum { MOST_POOL = 48 };

/* A graph while it is drawn: what nodes may read. */
typedef struct tiny {
    lot *r;
    pl_builder b;
    int64_t size[3];
    int n, n_products;
    pl_value *pool[MOST_POOL];
    struct {
        pl_value *x, *w, *y;
    } product[MOST_POOL];
} tiny;

static inline pl_value *tiny_put(tiny *t, pl_value *v)
{
    PL_ASSERT(t->n < MOST_POOL);
    return t->pool[t->n++] = v;
}

static inline pl_value *tiny_state(tiny *t, pl_shape s)
{
    const char *name = pl_builder_fmt(&t->b, "w%d", t->b.graph->values.n);
    return pl_add_state(&t->b, name, PL_F32, s, "ones", PL_WEIGHT);
}

/* One of the pool of this rank, and shape unless NULL; or NULL. */
static inline pl_value *tiny_find(tiny *t, int rank, const pl_shape *s)
{
    int first = draw(t->r, t->n);
    for (int i = 0; i < t->n; i++) {
        pl_value *v = t->pool[(first + i) % t->n];
        if (v->shape.rank == rank && (!s || pl_shape_same(&v->shape, s))) return v;
    }
    return NULL;
}

static inline pl_value *tiny_relu(tiny *t)
{
    return tiny_put(t, PL_ADD(&t->b, &pl_op_relu, NULL, t->pool[draw(t->r, t->n)]));
}

/* By a new weight, or by what is there and fits. */
static inline void tiny_product(tiny *t)
{
    pl_value *x = tiny_find(t, 2, NULL), *w = NULL;
    int kind = draw(t->r, 4);
    int64_t k = x->shape.dim[kind != 3], n = t->size[draw(t->r, 3)];
    if (kind == 0) w = tiny_find(t, 2, &PL_SHAPE(k, n));
    if (!w) w = tiny_state(t, kind == 2 ? PL_SHAPE(n, k) : PL_SHAPE(k, n));
    const char *spec = kind == 2 ? "mk,nk->mn" : kind == 3 ? "km,kn->mn" : "mk,kn->mn";
    pl_value *y = tiny_put(t, PL_ADD(&t->b, &pl_op_einsum, spec, x, w));
    if (kind < 2 && w->role == PL_STATE) {
        t->product[t->n_products].x = x, t->product[t->n_products].w = w;
        t->product[t->n_products++].y = y;
    }
}

static inline void tiny_add(tiny *t)
{
    pl_value *x = t->pool[draw(t->r, t->n)], *y = tiny_find(t, x->shape.rank, &x->shape);
    if (x->shape.rank == 2 && draw(t->r, 3) == 0) {
        pl_value *bias = tiny_find(t, 1, &PL_SHAPE(x->shape.dim[1]));
        if (!bias) bias = tiny_state(t, PL_SHAPE(x->shape.dim[1]));
        tiny_put(t, PL_ADD(&t->b, &pl_op_add, "mn,n->mn", x, bias));
    } else {
        tiny_put(t, PL_ADD(&t->b, draw(t->r, 2) ? &pl_op_add : &pl_op_mul, NULL, x, y));
    }
}

static inline void tiny_reduce(tiny *t)
{
    pl_value *x = tiny_find(t, 2, NULL);
    const char *spec = draw(t->r, 2) ? "mn->n" : "mn->m";
    tiny_put(t, PL_ADD(&t->b, draw(t->r, 4) ? &pl_op_reduce_sum : &pl_op_reduce_max, spec, x));
}

/* The gradient of a weight of a product, and maybe of what it reads; then maybe its update. */
static inline void tiny_grad(tiny *t, int most, pl_value *rate)
{
    int i = draw(t->r, t->n_products);
    pl_value *x = t->product[i].x, *w = t->product[i].w, *y = t->product[i].y;
    pl_value *dy = tiny_find(t, 2, &y->shape);
    t->b.of = y->maker;
    if (most > 2 && draw(t->r, 2)) tiny_put(t, PL_ADD(&t->b, &pl_op_einsum, "mn,kn->mk", dy, w));
    pl_value *dw = tiny_put(t, PL_ADD(&t->b, &pl_op_einsum, "mk,mn->kn", x, dy));
    t->b.of = NULL;
    if (w->next || draw(t->r, 3) == 0) return;
    pl_value *u = tiny_state(t, w->shape);
    u->kind = PL_BUFFER;
    pl_node *n =
        pl_add_node(&t->b, &pl_op_sgd, NULL, NULL, 5, (pl_value *const[]){ w, dw, u, rate, rate });
    if (!n) return;
    w->next = n->out[0], u->next = n->out[1];
    t->product[i] = t->product[--t->n_products]; /* nothing reads it after this */
    for (int k = 0; k < t->n; k++)
        if (t->pool[k] == w) t->pool[k] = t->pool[--t->n];
}

static inline const pl_graph *tiny_done(const lot *r, pl_builder *b)
{
    pl_graph *g;
    pl_err err = { 0 };
    if (!pl_builder_done(b, &g, &err)) fail_msg("seed %d: %s", (int)r->seed, err.msg);
    return g;
}

/* What nothing reads is reported, so that it stays. */
static inline void tiny_report(pl_builder *b, pl_arena *a)
{
    const pl_graph *g = b->graph;
    bool *read = PL_NEW_N(a, bool, g->values.n + 1);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_in; k++) read[g->nodes.at[i]->in[k]->id] = true;
    for (int i = 0, n = g->values.n; i < n; i++) {
        pl_value *v = g->values.at[i];
        if (v->maker && !read[i] && v->shape.rank)
            pl_add_output(b, pl_builder_fmt(b, "out%d", i), v);
    }
}

/* Between 1 and most nodes: a forward pass, then maybe a backward one. */
static inline const pl_graph *tiny_graph(lot *r, int most, pl_arena *a)
{
    static const int64_t sizes[] = { 4, 8, 16, 33, 64, 256 };
    tiny t = { .r = r, .b = pl_builder_new(a, &pl_ops_all, "tiny") };
    pl_value *rate = pl_add_input(&t.b, "rate", PL_F32, PL_SCALAR);
    for (int i = 0; i < 3; i++) t.size[i] = sizes[draw(r, 6)];
    tiny_put(&t, pl_add_input(&t.b, "x", PL_F32, PL_SHAPE(t.size[0], t.size[1])));
    int goal = 1 + draw(r, most), forward = draw(r, 2) ? goal : 1 + goal / 2;
    while (t.b.graph->nodes.n < forward) {
        int kind = draw(r, 8);
        if (kind < 4)
            tiny_product(&t);
        else if (kind < 6)
            tiny_add(&t);
        else if (kind < 7)
            tiny_relu(&t);
        else
            tiny_reduce(&t);
    }
    while (t.b.graph->nodes.n + 1 < goal && t.n_products)
        tiny_grad(&t, goal - t.b.graph->nodes.n, rate);
    tiny_report(&t.b, a);
    return tiny_done(r, &t.b);
}

/* -- stacks ------------------------------------------------------------------------------------ */

enum { MOST_STEPS = 4, MOST_WEIGHTS = 64 };
enum { STEP_PRODUCT, STEP_SHARED, STEP_ADD, STEP_RELU, STEP_MUL, STEP_BIAS, N_STEPS };

/* What each block does with values of its own: 0 is what the block before made, 1 what all blocks
 * read, then one of each step. */
typedef struct tiny_recipe {
    int n, kind[MOST_STEPS], x[MOST_STEPS], y[MOST_STEPS];
    bool collect; /* outside, what all blocks make is added up */
} tiny_recipe;

typedef struct tiny_stack {
    pl_builder b;
    int64_t rows, width;
    int n_weights;
    pl_value *weight[MOST_WEIGHTS], *shared;
} tiny_stack;

static inline pl_value *tiny_weight(tiny_stack *s, pl_shape shape)
{
    const char *name = pl_builder_fmt(&s->b, "w%d", s->n_weights);
    PL_ASSERT(s->n_weights < MOST_WEIGHTS);
    return s->weight[s->n_weights++] = pl_add_state(&s->b, name, PL_F32, shape, "ones", PL_WEIGHT);
}

static inline pl_value *tiny_linear(tiny_stack *s, pl_value *x, pl_value *w)
{
    if (!w) w = tiny_weight(s, PL_SHAPE(s->width, s->width));
    return PL_ADD(&s->b, &pl_op_einsum, "mk,kn->mn", x, w);
}

static inline pl_value *tiny_do(tiny_stack *s, int kind, pl_value *x, pl_value *y)
{
    if (kind == STEP_PRODUCT) return tiny_linear(s, x, NULL);
    if (kind == STEP_SHARED) return tiny_linear(s, x, s->shared);
    if (kind == STEP_ADD) return PL_ADD(&s->b, &pl_op_add, NULL, x, y);
    if (kind == STEP_MUL) return PL_ADD(&s->b, &pl_op_mul, NULL, x, y);
    if (kind == STEP_RELU) return PL_ADD(&s->b, &pl_op_relu, NULL, x);
    return PL_ADD(&s->b, &pl_op_add, "mn,n->mn", x, tiny_weight(s, PL_SHAPE(s->width)));
}

static inline pl_value *tiny_block(tiny_stack *s, const tiny_recipe *p, pl_value *h, pl_value *all)
{
    pl_value *at[MOST_STEPS + 2] = { h, all };
    for (int i = 0; i < p->n; i++) at[2 + i] = tiny_do(s, p->kind[i], at[p->x[i]], at[p->y[i]]);
    return at[1 + p->n];
}

static inline tiny_recipe tiny_recipe_of(lot *r, int most_steps)
{
    tiny_recipe p = { .n = 1 + draw(r, most_steps), .collect = most_steps > 1 && !draw(r, 4) };
    for (int i = 0; i < p.n; i++) {
        p.kind[i] = draw(r, N_STEPS);
        p.x[i] = i && draw(r, 3) ? 2 + draw(r, i) : 0;
        p.y[i] = draw(r, 6) ? draw(r, i + 2) : 1;
        if (p.y[i] == 1 && draw(r, 2)) p.y[i] = 0;
    }
    return p;
}

static inline void tiny_train(tiny_stack *s, pl_value *loss)
{
    pl_value *rate = pl_add_input(&s->b, "rate", PL_F32, PL_SCALAR), *grad[MOST_WEIGHTS];
    pl_autodiff(&s->b, loss, s->n_weights, s->weight, grad);
    for (int i = 0; i < s->n_weights && !s->b.err.code; i++) {
        if (!grad[i]) continue;
        const char *name = pl_builder_fmt(&s->b, "u%d", i);
        pl_value *u = pl_add_state(&s->b, name, PL_F32, grad[i]->shape, "zeros", PL_BUFFER);
        pl_value *const in[] = { s->weight[i], grad[i], u, rate, rate };
        pl_node *n = pl_add_node(&s->b, &pl_op_sgd, NULL, NULL, 5, in);
        if (n) s->weight[i]->next = n->out[0], u->next = n->out[1];
    }
}

/* What stands after the last block. */
static inline pl_value *tiny_head(tiny_stack *s, int kind, pl_value *h, pl_value *all)
{
    if (kind == 1) return tiny_linear(s, h, NULL);
    if (kind == 2) return PL_ADD(&s->b, &pl_op_mul, NULL, h, h);
    if (kind == 3) return PL_ADD(&s->b, &pl_op_relu, NULL, tiny_do(s, STEP_ADD, h, all));
    return h;
}

/* Equal blocks one after the other, of which the first and the last may have other neighbours than
 * the rest; trained or not. */
static inline const pl_graph *tiny_stack_graph(lot *r, int least, int most_steps, pl_arena *a)
{
    static const int64_t sizes[] = { 8, 16, 64, 256 };
    tiny_stack s = { .b = pl_builder_new(a, &pl_ops_all, "stack") };
    s.rows = sizes[draw(r, 4)], s.width = sizes[draw(r, 4)];
    tiny_recipe p = tiny_recipe_of(r, most_steps);
    int layers = least + draw(r, 3), head = most_steps > 1 ? draw(r, 4) : 0;
    pl_value *x = pl_add_input(&s.b, "x", PL_F32, PL_SHAPE(s.rows, s.width)), *h = x, *sum = NULL;
    s.shared = tiny_weight(&s, PL_SHAPE(s.width, s.width));
    if (draw(r, 2)) h = tiny_linear(&s, x, NULL);
    pl_value *all = draw(r, 2) ? h : x;
    for (int i = 0; i < layers; i++) {
        h = tiny_block(&s, &p, h, all);
        if (p.collect) sum = sum ? tiny_do(&s, STEP_ADD, sum, h) : h;
    }
    h = tiny_head(&s, head, h, all);
    if (sum) h = tiny_do(&s, STEP_ADD, h, sum);
    pl_value *loss = PL_ADD(&s.b, &pl_op_reduce_sum, "mn->", h);
    pl_add_output(&s.b, "loss", loss);
    if (most_steps > 1 && draw(r, 4)) tiny_train(&s, loss);
    return tiny_done(r, &s.b);
}

/* -- worlds ------------------------------------------------------------------------------------ */

static inline pl_mesh *tiny_mesh(lot *r, int n, const int size[], pl_arena *a)
{
    pl_mesh *m = PL_NEW(a, pl_mesh);
    m->n = n;
    for (int i = 0; i < n; i++) {
        pl_mesh_axis *x = &m->axis[i];
        x->size = size[i];
        x->name[0] = (char)('x' + i);
        x->latency = draw_power(r, -8, -5);
        x->per_byte = draw_power(r, -11, -7);
        x->start = draw(r, 2) ? draw_power(r, -8, -5) : 0;
        x->exchange_per_byte = draw(r, 2) ? draw_power(r, -11, -7) : 0;
    }
    m->copy_start = draw_power(r, -8, -5), m->copy_per_byte = draw_power(r, -12, -8);
    return m;
}

/* Some compute for far longer than their messages take, some far shorter. */
static inline pl_speed tiny_speed(lot *r)
{
    pl_speed s = { .stream = draw_power(r, 8, 12), .start = draw_power(r, -8, -5) };
    double flops = draw_power(r, 8, 13);
    for (int t = 0; t < PL_N_TYPES; t++) s.flops[t] = flops;
    s.hidden = draw(r, 2) ? 0.9 : 0;
    return s;
}

/* About as long as one device computes it takes to send all weights. */
static inline void tiny_balance(lot *r, const pl_graph *g, pl_mesh *m, pl_speed *s)
{
    double bytes = 4 * (double)pl_graph_params(g), flops = pl_graph_flops(g);
    *s = (pl_speed){ .stream = 1e15, .start = 1e-12, .hidden = 0.9 };
    for (int i = 0; i < m->n; i++)
        m->axis[i] = (pl_mesh_axis){ .name = { m->axis[i].name[0] },
                                     .size = m->axis[i].size,
                                     .latency = 1e-12,
                                     .per_byte = draw_power(r, -9.3, -9) };
    m->copy_start = 1e-12, m->copy_per_byte = 1e-14;
    double rate = flops / (1e-9 * (bytes + 1)) * draw_power(r, -0.2, 0.2);
    for (int t = 0; t < PL_N_TYPES; t++) s->flops[t] = rate;
}

#endif
