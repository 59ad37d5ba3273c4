/* The ends of a chain (ring.h): copies written out, next to those that the ring stands for. */
#include "search/ring.h"

#include <string.h>

static void add(double *to, const double *from, int n, double times)
{
    for (int x = 0; x < n; x++) to[x] += times * from[x];
}

/* A copy's variables at `at`: the ring's, without the links' pairs, whose potentials stay where the
 * link is not written out. */
static void add_copy(const pl_ring *f, pl_net *net, int at, bool has_left, bool has_right,
                     pl_arena *a)
{
    const pl_net *ring = f->ring;
    for (int v = 0; v < f->n_block; v++) {
        int r = f->n_outside + v;
        double *unary = PL_NEW_N(a, double, ring->size[r]);
        memcpy(unary, ring->unary[r], (size_t)ring->size[r] * sizeof *unary);
        pl_net_var(net, at + v, ring->size[r], ring->value[r], unary, a);
        net->memory[at + v] = ring->memory[r];
    }
    for (int p = f->at_block; p < f->at_link; p++) {
        const pl_net_pair *e = &ring->pair[p];
        pl_net_join(net, at + e->a - f->n_outside, at + e->b - f->n_outside, e->table, e->to_a,
                    e->to_b, a);
    }
    for (int p = f->at_link; p < f->at_every; p++) {
        const pl_net_pair *e = &ring->pair[p];
        if (has_right) add(net->unary[at + e->a - f->n_outside], e->to_a, e->table.rows, 1);
        if (has_left) add(net->unary[at + e->b - f->n_outside], e->to_b, e->table.cols, 1);
    }
    for (int p = f->at_every; p < ring->n_pairs; p++) {
        const pl_net_pair *e = &ring->pair[p];
        pl_net_join(net, e->a, at + e->b - f->n_outside, e->table, e->to_a, e->to_b, a);
    }
}

/* Outside at its whole cost. Copies that are not written out leave their potentials here. */
static void add_outside(const pl_ring *f, pl_net *net, int n_hidden, pl_arena *a)
{
    const pl_net *ring = f->ring;
    double copies = f->chain->copies;
    for (int v = 0; v < f->n_outside; v++) {
        double *unary = PL_NEW_N(a, double, ring->size[v]);
        for (int x = 0; x < ring->size[v]; x++) unary[x] = ring->unary[v][x] * copies;
        pl_net_var(net, v, ring->size[v], ring->value[v], unary, a);
        net->memory[v] = ring->memory[v];
    }
    for (int p = 0; p < f->at_block; p++) {
        const pl_net_pair *e = &ring->pair[p];
        pl_net_join(net, e->a, e->b, pl_net_scale(e->table, copies, a), NULL, NULL, a);
        pl_net_pair *to = &net->pair[net->n_pairs - 1];
        add(to->to_a, e->to_a, e->table.rows, copies);
        add(to->to_b, e->to_b, e->table.cols, copies);
    }
    for (int p = f->at_every; p < ring->n_pairs; p++)
        add(net->unary[ring->pair[p].a], ring->pair[p].to_a, ring->pair[p].table.rows, n_hidden);
}

/* The links between the copies at `from` and `to`. */
static void add_links(const pl_ring *f, pl_net *net, int from, int to, pl_arena *a)
{
    for (int l = 0; l < f->chain->n_links; l++) {
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(f, l, &to_a, &to_b, a);
        pl_net_join(net, from + f->chain->link[l].a, to + f->chain->link[l].b, t, to_a, to_b, a);
        net->pair[net->n_pairs - 1].loose = true;
    }
}

static void add_lists(const pl_ring *f, pl_net *net, int first, int last, pl_arena *a)
{
    const pl_chain *c = f->chain;
    for (int i = 0; i < c->n_first + c->n_last; i++) {
        const pl_sum_pair *e = i < c->n_first ? &c->first[i] : &c->last[i - c->n_first];
        int at = i < c->n_first ? first : last;
        pl_net_join(net, e->a, at + e->b, pl_ring_first(f, e, a), NULL, NULL, a);
        net->pair[net->n_pairs - 1].loose = true;
    }
}

pl_net *pl_ring_ends(const pl_ring *f, int depth, int more, pl_arena *a)
{
    const pl_chain *c = f->chain;
    int n = f->n_outside, b = f->n_block, n_first = depth < c->copies ? depth : c->copies;
    int n_last = depth < c->copies - n_first ? depth : c->copies - n_first;
    int n_written = n_first + n_last, n_hidden = c->copies - n_written;
    pl_net *net = pl_net_new(n + n_written * b + more, a);
    net->bound = f->ring->bound * c->copies;
    for (int l = 0; l < c->n_links; l++)
        if (f->link_pair[l] < 0) net->bound += f->floor[l] * (c->copies - 1);
    add_outside(f, net, n_hidden, a);
    for (int i = 0; i < n_written; i++)
        add_copy(f, net, n + i * b, n_hidden && i == n_first, n_hidden && i + 1 == n_first, a);
    for (int i = 0; i + 1 < n_written; i++)
        if (!n_hidden || i + 1 != n_first) add_links(f, net, n + i * b, n + (i + 1) * b, a);
    add_lists(f, net, n, n + (n_written - 1) * b, a);
    if (!more) pl_net_index(net, a);
    return net;
}

static void take_potentials(pl_net_pair *to, const pl_net_pair *from)
{
    memcpy(to->to_a, from->to_a, (size_t)to->table.rows * sizeof(double));
    memcpy(to->to_b, from->to_b, (size_t)to->table.cols * sizeof(double));
}

static int count_written(const pl_ring *f, const pl_net *ends)
{
    return f->n_block ? (ends->n - f->n_outside) / f->n_block : 0;
}

/* Pairs stand in the order outside, copies, links, lists; of other copies than the first and the
 * last they are taken over only when as many are written out. */
void pl_ring_go_on(const pl_ring *f, pl_net *ends, const pl_net *before)
{
    int n_lists = f->chain->n_first + f->chain->n_last, at = f->at_block;
    int n_copy = f->at_link - f->at_block + f->ring->n_pairs - f->at_every;
    int now = count_written(f, ends), old = count_written(f, before);
    if (now == old) {
        for (int p = 0; p < ends->n_pairs; p++) take_potentials(&ends->pair[p], &before->pair[p]);
        for (int v = 0; v < ends->n; v++)
            memcpy(ends->least[v], before->least[v], (size_t)ends->size[v] * sizeof(double));
        return;
    }
    for (int p = 0; p < at + n_copy; p++) take_potentials(&ends->pair[p], &before->pair[p]);
    for (int p = at; p < at + n_copy; p++)
        take_potentials(&ends->pair[p + (now - 1) * n_copy], &before->pair[p + (old - 1) * n_copy]);
    for (int i = 1; i <= n_lists; i++)
        take_potentials(&ends->pair[ends->n_pairs - i], &before->pair[before->n_pairs - i]);
}

/* One inner copy between links as they are: whatever a table still holds above zero counts. */
void pl_ring_settle(const pl_ring *f, pl_arena *a)
{
    int n = f->n_outside, kept = 0;
    pl_net *net = pl_net_new(f->ring->n, a);
    for (int v = 0; v < n; v++) pl_net_var(net, v, 1, NULL, PL_NEW(a, double), a);
    add_copy(f, net, n, true, true, a);
    for (int p = 0; p < net->n_pairs; p++) {
        const pl_net_pair *e = &net->pair[p];
        if (e->a < n)
            add(net->unary[e->b], e->to_b, e->table.cols, 1);
        else
            net->pair[kept++] = *e;
    }
    net->n_pairs = kept;
    pl_net_index(net, a);
    net->settled = true; /* as the ring is */
    pl_net_pass(net, true, NULL);
    pl_net_pass(net, false, NULL);
    for (int v = n; v < net->n; v++)
        memcpy(f->ring->least[v], net->least[v], (size_t)net->size[v] * sizeof(double));
    f->ring->work += net->work;
}

double pl_ring_least(const pl_ring *f, const pl_net *ends, int v, int x)
{
    if (v < f->n_outside) return ends->least[v][x];
    double least = INFINITY;
    if (count_written(f, ends) < f->chain->copies) least = ends->bound + f->ring->least[v][x];
    for (int at = v; at < ends->n; at += f->n_block) least = fmin(least, ends->least[at][x]);
    return least;
}

bool **pl_ring_below(const pl_ring *f, const pl_net *ends, double most, pl_arena *a)
{
    bool **keep = pl_net_keeps(f->ring, a);
    for (int v = 0; v < f->ring->n; v++)
        for (int x = 0; x < f->ring->size[v]; x++)
            keep[v][x] = pl_ring_least(f, ends, v, x) <= most;
    return keep;
}
