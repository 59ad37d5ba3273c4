/* The ends of a chain (ring.h): pl_ring_ends() writes copies out next to those that the ring
 * stands for, which gives a bound of the whole chain; pl_ring_settle() and pl_ring_least() give
 * one for each value. */
#include "chain/ring.h"

#include <string.h>

static void add(double *to, const double *from, int n, double times)
{
    for (int x = 0; x < n; x++) to[x] += times * from[x];
}

/* A copy's variables at `at`: the ring's, without the links' edges, whose potentials stay where the
 * link is not written out. */
static void add_copy(const pl_ring *ring, pl_net *net, int at, bool has_left, bool has_right,
                     pl_arena *arena)
{
    const pl_net *one = ring->net;
    for (int v = 0; v < ring->n_block; v++) {
        int r = ring->n_outside + v;
        double *unary = PL_NEW_N(arena, double, one->size[r]);
        memcpy(unary, one->unary[r], (size_t)one->size[r] * sizeof *unary);
        pl_net_var(net, at + v, one->size[r], one->value[r], unary, arena);
    }
    for (int p = ring->at_block; p < ring->at_link; p++) {
        const pl_net_edge *e = &one->edge[p];
        pl_net_join(net, at + e->a - ring->n_outside, at + e->b - ring->n_outside, e->table,
                    e->to_a, e->to_b, arena);
    }
    for (int p = ring->at_link; p < ring->at_every; p++) {
        const pl_net_edge *e = &one->edge[p];
        if (has_right) add(net->unary[at + e->a - ring->n_outside], e->to_a, e->table.rows, 1);
        if (has_left) add(net->unary[at + e->b - ring->n_outside], e->to_b, e->table.cols, 1);
    }
    for (int p = ring->at_every; p < one->n_edges; p++) {
        const pl_net_edge *e = &one->edge[p];
        pl_net_join(net, e->a, at + e->b - ring->n_outside, e->table, e->to_a, e->to_b, arena);
    }
}

/* Outside at its whole cost. Copies that are not written out leave their potentials here. */
static void add_outside(const pl_ring *ring, pl_net *net, int n_hidden, pl_arena *arena)
{
    const pl_net *one = ring->net;
    double copies = ring->chain->copies;
    for (int v = 0; v < ring->n_outside; v++) {
        double *unary = PL_NEW_N(arena, double, one->size[v]);
        for (int x = 0; x < one->size[v]; x++) unary[x] = one->unary[v][x] * copies;
        pl_net_var(net, v, one->size[v], one->value[v], unary, arena);
    }
    for (int p = 0; p < ring->at_block; p++) {
        const pl_net_edge *e = &one->edge[p];
        pl_net_join(net, e->a, e->b, pl_net_scale(e->table, copies, arena), NULL, NULL, arena);
        pl_net_edge *to = &net->edge[net->n_edges - 1];
        add(to->to_a, e->to_a, e->table.rows, copies);
        add(to->to_b, e->to_b, e->table.cols, copies);
    }
    for (int p = ring->at_every; p < one->n_edges; p++)
        add(net->unary[one->edge[p].a], one->edge[p].to_a, one->edge[p].table.rows, n_hidden);
}

/* The links between the copies at `from` and `to`. */
static void add_links(const pl_ring *ring, pl_net *net, int from, int to, pl_arena *arena)
{
    for (int l = 0; l < ring->chain->n_links; l++) {
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(ring, l, &to_a, &to_b, arena);
        pl_net_join(net, from + ring->chain->link[l].a, to + ring->chain->link[l].b, t, to_a, to_b,
                    arena);
        net->edge[net->n_edges - 1].loose = true;
    }
}

static void add_lists(const pl_ring *ring, pl_net *net, int first, int last, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    for (int i = 0; i < chain->n_first + chain->n_last; i++) {
        const pl_sum_edge *e =
            i < chain->n_first ? &chain->first[i] : &chain->last[i - chain->n_first];
        int at = i < chain->n_first ? first : last;
        pl_net_join(net, e->a, at + e->b, pl_ring_first(ring, e, arena), NULL, NULL, arena);
        net->edge[net->n_edges - 1].loose = true;
    }
}

pl_net *pl_ring_ends(const pl_ring *ring, int depth, int more, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    int n = ring->n_outside, b = ring->n_block,
        n_first = depth < chain->copies ? depth : chain->copies;
    int n_last = depth < chain->copies - n_first ? depth : chain->copies - n_first;
    int n_written = n_first + n_last, n_hidden = chain->copies - n_written;
    pl_net *net = pl_net_new(n + n_written * b + more, arena);
    net->bound = ring->net->bound * chain->copies;
    for (int l = 0; l < chain->n_links; l++)
        if (ring->link_edge[l] < 0) net->bound += ring->floor[l] * (chain->copies - 1);
    add_outside(ring, net, n_hidden, arena);
    for (int i = 0; i < n_written; i++)
        add_copy(ring, net, n + i * b, n_hidden && i == n_first, n_hidden && i + 1 == n_first,
                 arena);
    for (int i = 0; i + 1 < n_written; i++)
        if (!n_hidden || i + 1 != n_first) add_links(ring, net, n + i * b, n + (i + 1) * b, arena);
    add_lists(ring, net, n, n + (n_written - 1) * b, arena);
    if (!more) pl_net_index(net, arena);
    return net;
}

static void take_potentials(pl_net_edge *to, const pl_net_edge *from)
{
    memcpy(to->to_a, from->to_a, (size_t)to->table.rows * sizeof(double));
    memcpy(to->to_b, from->to_b, (size_t)to->table.cols * sizeof(double));
}

static int count_written(const pl_ring *f, const pl_net *ends)
{
    return f->n_block ? (ends->n - f->n_outside) / f->n_block : 0;
}

/* Edges stand in the order outside, copies, links, lists; of other copies than the first and the
 * last they are taken over only when as many are written out. */
void pl_ring_go_on(const pl_ring *ring, pl_net *ends, const pl_net *before)
{
    int n_lists = ring->chain->n_first + ring->chain->n_last, at = ring->at_block;
    int n_copy = ring->at_link - ring->at_block + ring->net->n_edges - ring->at_every;
    int now = count_written(ring, ends), old = count_written(ring, before);
    if (now == old) {
        for (int p = 0; p < ends->n_edges; p++) take_potentials(&ends->edge[p], &before->edge[p]);
        for (int v = 0; v < ends->n; v++)
            memcpy(ends->least[v], before->least[v], (size_t)ends->size[v] * sizeof(double));
        return;
    }
    for (int p = 0; p < at + n_copy; p++) take_potentials(&ends->edge[p], &before->edge[p]);
    for (int p = at; p < at + n_copy; p++)
        take_potentials(&ends->edge[p + (now - 1) * n_copy], &before->edge[p + (old - 1) * n_copy]);
    for (int i = 1; i <= n_lists; i++)
        take_potentials(&ends->edge[ends->n_edges - i], &before->edge[before->n_edges - i]);
}

/* One inner copy between links as they are: whatever a table still holds above zero counts. */
void pl_ring_settle(const pl_ring *ring, pl_arena *arena)
{
    int n = ring->n_outside, kept = 0;
    pl_net *net = pl_net_new(ring->net->n, arena);
    for (int v = 0; v < n; v++) pl_net_var(net, v, 1, NULL, PL_NEW(arena, double), arena);
    add_copy(ring, net, n, true, true, arena);
    for (int p = 0; p < net->n_edges; p++) {
        const pl_net_edge *e = &net->edge[p];
        if (e->a < n)
            add(net->unary[e->b], e->to_b, e->table.cols, 1);
        else
            net->edge[kept++] = *e;
    }
    net->n_edges = kept;
    pl_net_index(net, arena);
    net->settled = true; /* as the ring is */
    pl_net_pass(net, true, NULL);
    pl_net_pass(net, false, NULL);
    for (int v = n; v < net->n; v++)
        memcpy(ring->net->least[v], net->least[v], (size_t)net->size[v] * sizeof(double));
    ring->net->work += net->work;
}

double pl_ring_least(const pl_ring *ring, const pl_net *ends, int v, int x)
{
    if (v < ring->n_outside) return ends->least[v][x];
    double least = INFINITY;
    if (count_written(ring, ends) < ring->chain->copies)
        least = ends->bound + ring->net->least[v][x];
    for (int at = v; at < ends->n; at += ring->n_block) least = fmin(least, ends->least[at][x]);
    return least;
}

bool **pl_ring_below(const pl_ring *ring, const pl_net *ends, double most, pl_arena *arena)
{
    bool **keep = pl_net_keeps(ring->net, arena);
    for (int v = 0; v < ring->net->n; v++)
        for (int x = 0; x < ring->net->size[v]; x++)
            keep[v][x] = pl_ring_least(ring, ends, v, x) <= most;
    return keep;
}
