#include "search/ring.h"

#include <string.h>

static pl_net_table weigh_pair(const pl_sum_pair *e, const pl_sum *a, const pl_sum *b, pl_cost w,
                               pl_arena *arena)
{
    return pl_net_weigh(e->time, e->memory, a->n_values[e->a], b->n_values[e->b], w, arena);
}

static void add_variables(pl_net *net, const pl_sum *s, int at, pl_cost w, pl_arena *a)
{
    for (int v = 0; v < s->n; v++) {
        double *unary = pl_net_weigh_row(s->time ? s->time[v] : NULL,
                                         s->memory ? s->memory[v] : NULL, s->n_values[v], w, a);
        pl_net_var(net, at + v, s->n_values[v], NULL, unary, a);
    }
}

static double least_entry(pl_net_table t)
{
    double least = INFINITY;
    for (int x = 0; x < t.rows; x++)
        for (int y = 0; y < t.cols; y++)
            least = fmin(least, t.cost[(size_t)x * (size_t)t.cols + (size_t)y]);
    return least;
}

static void add_links(pl_ring *f, pl_arena *a)
{
    const pl_chain *c = f->chain;
    f->link_pair = PL_NEW_N(a, int, c->n_links);
    f->floor = PL_NEW_N(a, double, c->n_links);
    for (int l = 0; l < c->n_links; l++) {
        const pl_sum_pair *e = &c->link[l];
        pl_net_table t = weigh_pair(e, &c->block, &c->block, f->weights, a);
        f->link_pair[l] = e->a == e->b ? -1 : f->ring->n_pairs;
        if (e->a == e->b)
            f->floor[l] = least_entry(t);
        else
            pl_net_join(f->ring, f->n_outside + e->a, f->n_outside + e->b, t, NULL, NULL, a);
        if (e->a != e->b) f->ring->pair[f->ring->n_pairs - 1].loose = true;
    }
}

static void add(double *to, const double *from, int n, double times)
{
    for (int x = 0; x < n; x++) to[x] += times * from[x];
}

/* Folds of one chain have lost the same values before the first pass: those that are forbidden. */
static void start_from(pl_ring *f, const pl_ring *like)
{
    for (int p = 0; like && p < f->ring->n_pairs; p++) {
        const pl_net_pair *from = &like->ring->pair[p], *to = &f->ring->pair[p];
        add(to->to_a, from->to_a, to->table.rows, 1);
        add(to->to_b, from->to_b, to->table.cols, 1);
    }
}

pl_ring *pl_ring_new(const pl_chain *c, pl_cost w, const pl_ring *like, pl_arena *a)
{
    pl_ring *f = PL_NEW(a, pl_ring);
    const pl_sum *o = &c->outside, *b = &c->block;
    pl_cost part = { w.time / c->copies, w.memory / c->copies };
    *f = (pl_ring){ .chain = c, .weights = w, .n_outside = o->n, .n_block = b->n };
    f->ring = pl_net_new(o->n + b->n, a);
    add_variables(f->ring, o, 0, part, a);
    add_variables(f->ring, b, o->n, w, a);
    for (int p = 0; p < o->n_pairs; p++)
        pl_net_join(f->ring, o->pair[p].a, o->pair[p].b, weigh_pair(&o->pair[p], o, o, part, a),
                    NULL, NULL, a);
    f->at_block = f->ring->n_pairs;
    for (int p = 0; p < b->n_pairs; p++)
        pl_net_join(f->ring, o->n + b->pair[p].a, o->n + b->pair[p].b,
                    weigh_pair(&b->pair[p], b, b, w, a), NULL, NULL, a);
    f->at_link = f->ring->n_pairs;
    add_links(f, a);
    f->at_every = f->ring->n_pairs;
    for (int p = 0; p < c->n_every; p++)
        pl_net_join(f->ring, c->every[p].a, o->n + c->every[p].b,
                    weigh_pair(&c->every[p], o, b, w, a), NULL, NULL, a);
    pl_net_index(f->ring, a);
    f->ring = pl_net_keep(f->ring, pl_net_keeps(f->ring, a), NULL, false, a);
    if (!f->ring) return NULL;
    start_from(f, like);
    return f;
}

/* Entries of a pair of the chain for the values that are left. */
static pl_net_table gather(const pl_ring *f, const pl_sum_pair *e, int cols, int va, int vb,
                           double less, pl_arena *a)
{
    const pl_net *ring = f->ring;
    pl_net_table t = { ring->size[va], ring->size[vb], NULL, NULL, true };
    double *cost = pl_arena_get(a, (size_t)t.rows * (size_t)t.cols, sizeof *cost), *to = cost;
    for (int x = 0; x < t.rows; x++)
        for (int y = 0; y < t.cols; y++, to++) {
            *to = INFINITY;
            size_t at = (size_t)ring->value[va][x] * (size_t)cols + (size_t)ring->value[vb][y];
            if (isinf(e->time[at])) continue;
            *to = f->weights.time * e->time[at] - less;
            if (e->memory) *to += f->weights.memory * e->memory[at];
        }
    t.cost = cost;
    t.memory = pl_net_recall(e->memory, cols, t, ring->value[va], ring->value[vb], a);
    return t;
}

void pl_ring_remember(pl_ring *f, pl_arena *a)
{
    const pl_chain *c = f->chain;
    pl_net *ring = f->ring;
    int n = f->n_outside;
    for (int v = 0; v < ring->n; v++) {
        const pl_sum *s = v < n ? &c->outside : &c->block;
        const double *memory = s->memory ? s->memory[v < n ? v : v - n] : NULL;
        ring->memory[v] = pl_net_recall_row(memory, ring->size[v], ring->value[v], a);
    }
    for (int p = 0; p < ring->n_pairs; p++) {
        pl_net_pair *e = &ring->pair[p];
        const pl_sum_pair *from = p < f->at_block  ? &c->outside.pair[p]
                                  : p < f->at_link ? &c->block.pair[p - f->at_block]
                                                   : &c->every[p - f->at_every];
        if (p >= f->at_link && p < f->at_every) {
            int l = 0;
            while (f->link_pair[l] != p) l++;
            from = &c->link[l];
        }
        const int *n_values = p < f->at_block ? c->outside.n_values : c->block.n_values;
        e->table.memory = pl_net_recall(from->memory, n_values[from->b], e->table,
                                        ring->value[e->a], ring->value[e->b], a);
    }
}

pl_net_table pl_ring_link(const pl_ring *f, int l, const double **to_a, const double **to_b,
                          pl_arena *a)
{
    const pl_sum_pair *e = &f->chain->link[l];
    int v = f->n_outside + e->a;
    *to_a = *to_b = NULL;
    if (f->link_pair[l] < 0)
        return gather(f, e, f->chain->block.n_values[e->b], v, v, f->floor[l], a);
    const pl_net_pair *p = &f->ring->pair[f->link_pair[l]];
    *to_a = p->to_a;
    *to_b = p->to_b;
    return p->table;
}

pl_net_table pl_ring_first(const pl_ring *f, const pl_sum_pair *e, pl_arena *a)
{
    return gather(f, e, f->chain->block.n_values[e->b], e->a, f->n_outside + e->b, 0, a);
}

pl_net *pl_ring_tie(const pl_ring *f, pl_arena *a)
{
    const pl_chain *c = f->chain;
    const pl_net *ring = f->ring;
    double part = 1.0 / c->copies;
    pl_net *net = pl_net_new(ring->n, a);
    net->bound = ring->bound;
    for (int v = 0; v < ring->n; v++) {
        double *unary = PL_NEW_N(a, double, ring->size[v]);
        memcpy(unary, ring->unary[v], (size_t)ring->size[v] * sizeof *unary);
        pl_net_var(net, v, ring->size[v], ring->value[v], unary, a);
    }
    for (int p = 0; p < ring->n_pairs; p++) {
        const pl_net_pair *e = &ring->pair[p];
        bool link = p >= f->at_link && p < f->at_every;
        pl_net_table t = link ? pl_net_scale(e->table, 1 - part, a) : e->table;
        pl_net_join(net, e->a, e->b, t, e->to_a, e->to_b, a);
    }
    for (int l = 0; l < c->n_links; l++) {
        const pl_sum_pair *e = &c->link[l];
        int v = f->n_outside + e->a;
        if (f->link_pair[l] >= 0) continue;
        pl_net_table t = gather(f, e, c->block.n_values[e->b], v, v, f->floor[l], a);
        for (int x = 0; x < t.rows; x++)
            net->unary[v][x] += (1 - part) * t.cost[(size_t)x * (size_t)t.cols + (size_t)x];
    }
    for (int i = 0; i < c->n_first + c->n_last; i++) {
        const pl_sum_pair *e = i < c->n_first ? &c->first[i] : &c->last[i - c->n_first];
        pl_net_join(net, e->a, f->n_outside + e->b, pl_net_scale(pl_ring_first(f, e, a), part, a),
                    NULL, NULL, a);
    }
    pl_net_index(net, a);
    return pl_net_keep(net, pl_net_keeps(net, a), NULL, false, a);
}

pl_ring *pl_ring_keep(const pl_ring *f, bool **keep, pl_net **ends, pl_arena *a)
{
    pl_ring *g = PL_NEW(a, pl_ring);
    *g = *f;
    g->ring = pl_net_keep(f->ring, keep, NULL, false, a);
    if (!g->ring || !ends) return g->ring ? g : NULL;
    /* What the ring keeps has partners in every copy: no more may go, or places would differ. */
    bool **same = PL_NEW_N(a, bool *, (*ends)->n), *fixed = PL_NEW_N(a, bool, (*ends)->n);
    for (int v = 0; v < (*ends)->n; v++) {
        same[v] = keep[v < f->n_outside ? v : f->n_outside + (v - f->n_outside) % f->n_block];
        fixed[v] = true;
    }
    *ends = pl_net_keep(*ends, same, fixed, false, a);
    return g;
}
