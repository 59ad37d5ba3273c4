/* Sums that look like a planner's: the training step of transformer layers on a mesh.
 *
 * A variable is a node; a value gives each mesh axis one of the node's letters, or none (it works
 * on a copy). Operands follow: an axis splits an operand that has its letter, else it holds a
 * copy; an output without the letter is pending. An edge costs what the collectives between two
 * layouts cost. Stored weights are variables too: their memory is bytes / ways of the split. */
#ifndef PL_TEST_SEARCH_LAYOUT_H
#define PL_TEST_SEARCH_LAYOUT_H
#include "base/rng.h"
#include "chain/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUT_AXES = 3, LAYOUT_LETTERS = 8, LAYOUT_NODES = 400 };

/* b: batch, s: sequence, k: the keys' sequence, d: model width, f: inner width, a: heads,
 * e: width of a head, m: micro-batches (rich layouts only: wherever b is) */
typedef struct layout {
    int n_axes;
    int ways[LAYOUT_AXES];
    double bytes_per_s[LAYOUT_AXES], latency, flops_per_s, memory_per_s;
    double size[LAYOUT_LETTERS];
    bool rich;            /* a letter more per node: up to 49 instead of 36 values on 2 axes      */
    int chains;           /* cheap nodes in a row beside each matrix product                      */
    int copies;
} layout;

typedef struct layout_node {
    unsigned letters, out;  /* masks; letters that are not in out are summed                      */
    double flops, state;    /* state: bytes kept per element of out                               */
} layout_node;

typedef struct layout_edge {
    int from, to;
    unsigned operand;       /* letters of the tensor                                              */
} layout_edge;

typedef struct layout_part {
    int n, n_edges;
    bool rich;
    layout_node node[LAYOUT_NODES];
    layout_edge edge[2 * LAYOUT_NODES];
} layout_part;

static inline unsigned letters_of(const char *text)
{
    static const char all[] = "bskdfaem";
    unsigned mask = 0;
    for (; *text; text++) mask |= 1u << (strchr(all, *text) - all);
    return mask;
}

static inline double layout_count(const layout *l, unsigned letters)
{
    double n = 1;
    for (int i = 0; i < LAYOUT_LETTERS; i++)
        if (letters >> i & 1) n *= l->size[i];
    return n;
}

/* The letter (or -1: none) that value x of a node gives to each axis: its letters in turn. */
static inline void layout_value(const layout *l, unsigned letters, int x, int *letter)
{
    int list[LAYOUT_LETTERS + 1], n = 0;
    list[n++] = -1;
    for (int i = 0; i < LAYOUT_LETTERS; i++)
        if (letters >> i & 1) list[n++] = i;
    for (int k = 0; k < l->n_axes; k++, x /= n) letter[k] = list[x % n];
}

static inline int layout_values(const layout *l, unsigned letters)
{
    int n = 1, each = __builtin_popcount(letters) + 1;
    for (int k = 0; k < l->n_axes; k++) n *= each;
    return n;
}

enum { COPIED = -1, PENDING = -2 };

/* Axis by axis, the last (fastest) one first: gathers see what the others still hold. */
static inline double layout_convert(const layout *l, double bytes, const int *from, const int *to)
{
    double local = bytes, time = 0;
    for (int k = 0; k < l->n_axes; k++)
        if (from[k] >= 0) local /= l->ways[k];
    for (int k = l->n_axes - 1; k >= 0; k--) {
        double n = l->ways[k], part = (n - 1) / n;
        if (from[k] == to[k] || n < 2) continue;
        double sent = 0;
        if (from[k] >= 0 && to[k] == COPIED) sent = part * (local *= n);
        else if (from[k] >= 0 && to[k] == PENDING) local *= n;
        else if (from[k] >= 0) sent = part * local;
        else if (from[k] == PENDING && to[k] == COPIED) sent = 2 * part * local;
        else if (from[k] == PENDING) sent = part * local, local /= n;
        else if (to[k] >= 0) local /= n;
        if (sent > 0) time += l->latency + sent / l->bytes_per_s[k];
    }
    return time;
}

static inline int add_node(layout_part *p, const char *letters, const char *out, double flops,
                           double state)
{
    if (p->n == LAYOUT_NODES) abort();
    unsigned m = letters_of("m"), b = letters_of("b");
    layout_node *node = &p->node[p->n];
    *node = (layout_node){ letters_of(letters), letters_of(out), flops, state };
    if (p->rich && node->letters & b) node->letters |= m;
    if (p->rich && node->out & b) node->out |= m;
    return p->n++;
}

static inline void add_edge(layout_part *p, int from, int to)
{
    if (p->n_edges == 2 * LAYOUT_NODES) abort();
    p->edge[p->n_edges++] = (layout_edge){ from, to, p->node[from].out };
}

static inline void node_tables(const layout *l, const layout_node *n, double *time, double *memory)
{
    for (int x = 0; x < layout_values(l, n->letters); x++) {
        int letter[LAYOUT_AXES];
        double split = 1, held = 1;
        layout_value(l, n->letters, x, letter);
        for (int k = 0; k < l->n_axes; k++) {
            if (letter[k] >= 0) split *= l->ways[k];
            if (letter[k] >= 0 && n->out >> letter[k] & 1) held *= l->ways[k];
        }
        time[x] = n->flops / split / l->flops_per_s +
                  (n->flops > 0 ? 4 * layout_count(l, n->out) / held / l->memory_per_s : 0);
        memory[x] = n->state * layout_count(l, n->out) / held;
    }
}

static inline double *edge_table(const layout *l, const layout_node *from, const layout_node *to,
                                 unsigned operand, pl_arena *a)
{
    int rows = layout_values(l, from->letters), cols = layout_values(l, to->letters);
    double *time = PL_NEW_N(a, double, rows * cols), bytes = 2 * layout_count(l, operand);
    for (int x = 0; x < rows; x++)
        for (int y = 0; y < cols; y++) {
            int p[LAYOUT_AXES], q[LAYOUT_AXES];
            layout_value(l, from->letters, x, p);
            layout_value(l, to->letters, y, q);
            for (int k = 0; k < l->n_axes; k++) {
                if (p[k] >= 0 && !(from->out >> p[k] & 1)) p[k] = PENDING;
                if (q[k] >= 0 && !(operand >> q[k] & 1)) q[k] = COPIED;
            }
            time[x * cols + y] = layout_convert(l, bytes, p, q);
        }
    return time;
}

static inline pl_sum layout_sum(const layout *l, const layout_part *p, pl_arena *a)
{
    int *n_values = PL_NEW_N(a, int, p->n);
    double **time = PL_NEW_N(a, double *, p->n), **memory = PL_NEW_N(a, double *, p->n);
    pl_sum_edge *edge = PL_NEW_N(a, pl_sum_edge, p->n_edges);
    for (int v = 0; v < p->n; v++) {
        n_values[v] = layout_values(l, p->node[v].letters);
        time[v] = PL_NEW_N(a, double, n_values[v]);
        memory[v] = PL_NEW_N(a, double, n_values[v]);
        node_tables(l, &p->node[v], time[v], memory[v]);
    }
    for (int i = 0; i < p->n_edges; i++) {
        const layout_edge *e = &p->edge[i];
        edge[i] = (pl_sum_edge){ e->from, e->to,
                                 edge_table(l, &p->node[e->from], &p->node[e->to], e->operand, a),
                                 NULL };
    }
    return (pl_sum){ p->n, n_values, (const double *const *)time, (const double *const *)memory,
                     p->n_edges, edge };
}

/* Elementwise nodes in a row after v. */
static inline int add_cheap(const layout *l, layout_part *p, int v, const char *letters, int n)
{
    double size = layout_count(l, letters_of(letters));
    for (int i = 0; i < n; i++) {
        int u = add_node(p, letters, letters, 2 * size, 0);
        add_edge(p, v, u);
        v = u;
    }
    return v;
}

/* A matrix product with its weight: forward now, the rest when the gradient comes. */
typedef struct layout_linear {
    int x, weight, y;
    const char *all, *in, *out, *inner;
} layout_linear;

static inline layout_linear add_linear(const layout *l, layout_part *p, int x, const char *all,
                                       const char *in, const char *out, const char *inner)
{
    layout_linear m = { x, -1, -1, all, in, out, inner };
    double flops = 2 * layout_count(l, letters_of(all));
    m.weight = add_node(p, inner, inner, 0, 16);
    m.y = add_node(p, all, out, flops, 2);
    add_edge(p, x, m.y);
    add_edge(p, m.weight, m.y);
    m.y = add_cheap(l, p, m.y, out, l->chains);
    return m;
}

/* Returns the gradient of x; adds that of the weight and its update, tied to where it is stored. */
static inline int add_linear_grad(const layout *l, layout_part *p, const layout_linear *m, int dy)
{
    double flops = 2 * layout_count(l, letters_of(m->all));
    dy = add_cheap(l, p, dy, m->out, l->chains);
    int dx = add_node(p, m->all, m->in, flops, 0), dw = add_node(p, m->all, m->inner, flops, 0);
    int up = add_node(p, m->inner, m->inner, 10 * layout_count(l, letters_of(m->inner)), 0);
    add_edge(p, dy, dx);
    add_edge(p, m->weight, dx);
    add_edge(p, dy, dw);
    add_edge(p, m->x, dw);
    add_edge(p, dw, up);
    add_edge(p, m->weight, up);
    return dx;
}

/* What a block gets from and gives to its neighbours. */
typedef struct layout_ports {
    int in[3], n_in;     /* nodes that read the stream x of the block before                      */
    int out;             /* the node that makes this block's x                                    */
    int grad_in[2];      /* nodes that read the gradient that comes from the block after          */
    int grad_out;        /* the node that makes the gradient for the block before                 */
    int mask;            /* reads the hub                                                         */
} layout_ports;

/* One layer, forward, backward and update, node by node: long because a layer is. */
static inline layout_ports layout_block(const layout *l, layout_part *p)
{
    const char *x = "bsd", *h = l->rich ? "bsae" : "bsa";
    const char *proj = l->rich ? "bsdae" : "bsda", *w = l->rich ? "dae" : "da";
    double wide = layout_count(l, letters_of("bsd"));
    layout_ports io = { .n_in = 3 };
    int norm1 = add_node(p, "bs", "bsd", 8 * wide, 2);
    layout_linear q = add_linear(l, p, norm1, proj, x, h, w);
    layout_linear k = add_linear(l, p, norm1, proj, x, h, w);
    layout_linear v = add_linear(l, p, norm1, proj, x, h, w);
    double quad = 2 * layout_count(l, letters_of("bskae"));
    int score = add_node(p, "bskae", "bska", quad, 2);
    add_edge(p, q.y, score);
    add_edge(p, k.y, score);
    int soft = add_node(p, "bsa", "bska", quad / 64, 2);
    add_edge(p, score, soft);
    int mix = add_node(p, "bskae", h, quad, 2);
    add_edge(p, soft, mix);
    add_edge(p, v.y, mix);
    layout_linear o = add_linear(l, p, mix, proj, h, x, w);
    int sum1 = add_node(p, x, x, wide, 2);
    add_edge(p, o.y, sum1);
    int norm2 = add_node(p, "bs", "bsd", 8 * wide, 2);
    add_edge(p, sum1, norm2);
    layout_linear up = add_linear(l, p, norm2, "bsdf", x, "bsf", "df");
    layout_linear gate = add_linear(l, p, norm2, "bsdf", x, "bsf", "df");
    int act = add_node(p, "bsf", "bsf", 8 * layout_count(l, letters_of("bsf")), 2);
    add_edge(p, up.y, act);
    add_edge(p, gate.y, act);
    layout_linear down = add_linear(l, p, act, "bsdf", "bsf", x, "df");
    int sum2 = add_node(p, x, x, wide, 2);
    add_edge(p, sum1, sum2);
    add_edge(p, down.y, sum2);

    int dsum2 = add_node(p, x, x, wide, 0); /* the gradient of the block's output               */
    int dact = add_linear_grad(l, p, &down, dsum2);
    int dup = add_node(p, "bsf", "bsf", 8 * layout_count(l, letters_of("bsf")), 0);
    add_edge(p, dact, dup);
    add_edge(p, up.y, dup);
    add_edge(p, gate.y, dup);
    int da = add_linear_grad(l, p, &up, dup), db = add_linear_grad(l, p, &gate, dup);
    int dnorm2 = add_node(p, "bs", "bsd", 8 * wide, 0);
    add_edge(p, da, dnorm2);
    add_edge(p, db, dnorm2);
    add_edge(p, sum1, dnorm2);
    int dsum1 = add_node(p, x, x, wide, 0);
    add_edge(p, dnorm2, dsum1);
    add_edge(p, dsum2, dsum1);
    int dmix = add_linear_grad(l, p, &o, dsum1);
    int dv = add_node(p, "bskae", h, quad, 0), dsoft = add_node(p, "bskae", "bska", quad, 0);
    add_edge(p, dmix, dv);
    add_edge(p, soft, dv);
    add_edge(p, dmix, dsoft);
    add_edge(p, v.y, dsoft);
    int dscore = add_node(p, "bsa", "bska", quad / 64, 0);
    add_edge(p, dsoft, dscore);
    add_edge(p, soft, dscore);
    int dq = add_node(p, "bskae", h, quad, 0), dk = add_node(p, "bskae", h, quad, 0);
    add_edge(p, dscore, dq);
    add_edge(p, k.y, dq);
    add_edge(p, dscore, dk);
    add_edge(p, q.y, dk);
    int g[3] = { add_linear_grad(l, p, &q, dq), add_linear_grad(l, p, &k, dk),
                 add_linear_grad(l, p, &v, dv) };
    int dnorm1 = add_node(p, "bs", "bsd", 8 * wide, 0), dx = add_node(p, x, x, wide, 0);
    for (int i = 0; i < 3; i++) add_edge(p, g[i], dnorm1);
    add_edge(p, dnorm1, dx);
    add_edge(p, dsum1, dx);
    io.in[0] = norm1;
    io.in[1] = sum1;
    io.in[2] = dnorm1;
    io.out = sum2;
    io.grad_in[0] = io.grad_in[1] = dsum2;
    io.grad_out = dx;
    io.mask = score;
    return io;
}

static inline pl_sum_edge layout_join(const layout *l, const layout_part *from, int u,
                                      const layout_part *to, int v, int a, int b, bool swap,
                                      pl_arena *arena)
{
    double *t = edge_table(l, &from->node[u], &to->node[v], from->node[u].out, arena);
    int rows = layout_values(l, from->node[u].letters);
    int cols = layout_values(l, to->node[v].letters);
    if (!swap) return (pl_sum_edge){ a, b, t, NULL };
    double *turned = PL_NEW_N(arena, double, rows * cols);
    for (int x = 0; x < rows; x++)
        for (int y = 0; y < cols; y++) turned[y * rows + x] = t[x * cols + y];
    return (pl_sum_edge){ a, b, turned, NULL };
}

static inline pl_chain layout_chain(const layout *l, pl_arena *a)
{
    layout_part *b = PL_NEW(a, layout_part), *o = PL_NEW(a, layout_part);
    b->rich = o->rich = l->rich;
    layout_ports io = layout_block(l, b);
    double wide = layout_count(l, letters_of("bsd"));
    int mask = add_node(o, "bs", "bs", 0, 1);
    int table = add_node(o, "fd", "fd", 0, 16), embed = add_node(o, "bsfd", "bsd", wide, 2);
    add_edge(o, table, embed);
    int norm = add_node(o, "bs", "bsd", 8 * wide, 2);
    layout_linear head = add_linear(l, o, norm, "bsdf", "bsd", "bsf", "df");
    int loss = add_node(o, "bs", "bsf", 8 * layout_count(l, letters_of("bsf")), 0);
    add_edge(o, head.y, loss);
    int dnorm = add_linear_grad(l, o, &head, loss);
    int dlast = add_node(o, "bs", "bsd", 8 * wide, 0);
    add_edge(o, dnorm, dlast);
    int dtable = add_node(o, "bsfd", "fd", wide, 0);
    add_edge(o, table, dtable);
    pl_chain c = { .copies = l->copies };
    c.outside = layout_sum(l, o, a);
    c.block = layout_sum(l, b, a);
    pl_sum_edge *link = PL_NEW_N(a, pl_sum_edge, 4), *first = PL_NEW_N(a, pl_sum_edge, 4);
    pl_sum_edge *last = PL_NEW_N(a, pl_sum_edge, 4), *every = PL_NEW_N(a, pl_sum_edge, 1);
    for (int i = 0; i < 3; i++) {
        link[i] = layout_join(l, b, io.out, b, io.in[i], io.out, io.in[i], false, a);
        first[i] = layout_join(l, o, embed, b, io.in[i], embed, io.in[i], false, a);
    }
    /* The gradient runs the other way: from copy i + 1 to copy i. */
    link[3] = layout_join(l, b, io.grad_out, b, io.grad_in[0], io.grad_in[0], io.grad_out, true, a);
    first[3] = layout_join(l, b, io.grad_out, o, dtable, dtable, io.grad_out, true, a);
    last[0] = layout_join(l, b, io.out, o, norm, norm, io.out, true, a);
    last[1] = layout_join(l, b, io.out, o, dlast, dlast, io.out, true, a);
    last[2] = layout_join(l, o, dlast, b, io.grad_in[0], dlast, io.grad_in[0], false, a);
    every[0] = layout_join(l, o, mask, b, io.mask, mask, io.mask, false, a);
    c.n_links = 4, c.link = link;
    c.n_first = 4, c.first = first;
    c.n_last = 3, c.last = last;
    c.n_every = 1, c.every = every;
    return c;
}

/* A node of two levels (or three), GPT-like sizes. */
static inline layout layout_gpt(int n_axes, bool rich, int chains, int copies)
{
    layout l = { .n_axes = n_axes, .ways = { 8, 8 }, .bytes_per_s = { 12e9, 150e9 },
                 .latency = 1e-5, .flops_per_s = 1e14, .memory_per_s = 1e12,
                 .size = { 64, 1024, 1024, 4096, 16384, 32, 128, 1 }, .rich = rich,
                 .chains = chains, .copies = copies };
    if (n_axes == 3) {
        const int ways[] = { 4, 4, 4 };
        const double rate[] = { 12e9, 50e9, 150e9 };
        memcpy(l.ways, ways, sizeof ways);
        memcpy(l.bytes_per_s, rate, sizeof rate);
    }
    if (n_axes == 1) l.bytes_per_s[0] = 50e9;
    return l;
}

#endif
