/* The ring of one copy: made from a chain (pl_ring_new), tied (pl_ring_tie), made smaller
 * (pl_ring_keep). Its bound times the copies is that of the cyclic relaxation, where the last
 * copy is linked to the first; ends.c corrects it. */
#include "chain/ring.h"

#include <string.h>

static pl_net_table weigh_edge(const pl_sum_edge *e, const pl_sum *a, const pl_sum *b, pl_cost w,
                               pl_arena *arena)
{
    return pl_net_weigh(e->time, e->memory, a->n_values[e->a], b->n_values[e->b], w, arena);
}

static void add_variables(pl_net *net, const pl_sum *sum, int at, pl_cost weights, pl_arena *arena)
{
    for (int v = 0; v < sum->n; v++) {
        double *unary =
            pl_net_weigh_row(sum->time ? sum->time[v] : NULL, sum->memory ? sum->memory[v] : NULL,
                             sum->n_values[v], weights, arena);
        pl_net_var(net, at + v, sum->n_values[v], NULL, unary, arena);
    }
}

static double least_entry(pl_net_table table)
{
    double least = INFINITY;
    for (int x = 0; x < table.rows; x++)
        for (int y = 0; y < table.cols; y++)
            least = fmin(least, table.cost[(size_t)x * (size_t)table.cols + (size_t)y]);
    return least;
}

static void add_links(pl_ring *ring, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    ring->link_edge = PL_NEW_N(arena, int, chain->n_links);
    ring->floor = PL_NEW_N(arena, double, chain->n_links);
    for (int l = 0; l < chain->n_links; l++) {
        const pl_sum_edge *e = &chain->link[l];
        pl_net_table t = weigh_edge(e, &chain->block, &chain->block, ring->weights, arena);
        ring->link_edge[l] = e->a == e->b ? -1 : ring->net->n_edges;
        if (e->a == e->b)
            ring->floor[l] = least_entry(t);
        else
            pl_net_join(ring->net, ring->n_outside + e->a, ring->n_outside + e->b, t, NULL, NULL,
                        arena);
        if (e->a != e->b) ring->net->edge[ring->net->n_edges - 1].loose = true;
    }
}

pl_ring *pl_ring_new(const pl_chain *chain, pl_cost weights, pl_arena *arena)
{
    pl_ring *ring = PL_NEW(arena, pl_ring);
    const pl_sum *o = &chain->outside, *b = &chain->block;
    pl_cost part = { weights.time / chain->copies, weights.memory / chain->copies };
    *ring = (pl_ring){ .chain = chain, .weights = weights, .n_outside = o->n, .n_block = b->n };
    ring->net = pl_net_new(o->n + b->n, arena);
    add_variables(ring->net, o, 0, part, arena);
    add_variables(ring->net, b, o->n, weights, arena);
    for (int p = 0; p < o->n_edges; p++)
        pl_net_join(ring->net, o->edge[p].a, o->edge[p].b,
                    weigh_edge(&o->edge[p], o, o, part, arena), NULL, NULL, arena);
    ring->at_block = ring->net->n_edges;
    for (int p = 0; p < b->n_edges; p++)
        pl_net_join(ring->net, o->n + b->edge[p].a, o->n + b->edge[p].b,
                    weigh_edge(&b->edge[p], b, b, weights, arena), NULL, NULL, arena);
    ring->at_link = ring->net->n_edges;
    add_links(ring, arena);
    ring->at_every = ring->net->n_edges;
    for (int p = 0; p < chain->n_every; p++)
        pl_net_join(ring->net, chain->every[p].a, o->n + chain->every[p].b,
                    weigh_edge(&chain->every[p], o, b, weights, arena), NULL, NULL, arena);
    pl_net_index(ring->net, arena);
    ring->net = pl_net_keep(ring->net, pl_net_keeps(ring->net, arena), NULL, false, arena);
    return ring->net ? ring : NULL;
}

/* Entries of an edge of the chain for the values that are left. */
static pl_net_table gather(const pl_ring *ring, const pl_sum_edge *edge, int cols, int va, int vb,
                           double less, pl_arena *arena)
{
    const pl_net *one = ring->net;
    pl_net_table t = { one->size[va], one->size[vb], NULL, NULL, true };
    double *cost = pl_arena_get(arena, (size_t)t.rows * (size_t)t.cols, sizeof *cost), *to = cost;
    for (int x = 0; x < t.rows; x++)
        for (int y = 0; y < t.cols; y++, to++) {
            *to = INFINITY;
            size_t at = (size_t)one->value[va][x] * (size_t)cols + (size_t)one->value[vb][y];
            if (isinf(edge->time[at])) continue;
            *to = ring->weights.time * edge->time[at] - less;
            if (edge->memory) *to += ring->weights.memory * edge->memory[at];
        }
    t.cost = cost;
    return t;
}

pl_net_table pl_ring_link(const pl_ring *ring, int l, const double **to_a, const double **to_b,
                          pl_arena *arena)
{
    const pl_sum_edge *e = &ring->chain->link[l];
    int v = ring->n_outside + e->a;
    *to_a = *to_b = NULL;
    if (ring->link_edge[l] < 0)
        return gather(ring, e, ring->chain->block.n_values[e->b], v, v, ring->floor[l], arena);
    const pl_net_edge *p = &ring->net->edge[ring->link_edge[l]];
    *to_a = p->to_a;
    *to_b = p->to_b;
    return p->table;
}

pl_net_table pl_ring_first(const pl_ring *ring, const pl_sum_edge *edge, pl_arena *arena)
{
    return gather(ring, edge, ring->chain->block.n_values[edge->b], edge->a,
                  ring->n_outside + edge->b, 0, arena);
}

pl_net *pl_ring_tie(const pl_ring *ring, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    const pl_net *one = ring->net;
    double part = 1.0 / chain->copies;
    pl_net *net = pl_net_new(one->n, arena);
    net->bound = one->bound;
    for (int v = 0; v < one->n; v++) {
        double *unary = PL_NEW_N(arena, double, one->size[v]);
        memcpy(unary, one->unary[v], (size_t)one->size[v] * sizeof *unary);
        pl_net_var(net, v, one->size[v], one->value[v], unary, arena);
    }
    for (int p = 0; p < one->n_edges; p++) {
        const pl_net_edge *e = &one->edge[p];
        bool link = p >= ring->at_link && p < ring->at_every;
        pl_net_table t = link ? pl_net_scale(e->table, 1 - part, arena) : e->table;
        pl_net_join(net, e->a, e->b, t, e->to_a, e->to_b, arena);
    }
    for (int l = 0; l < chain->n_links; l++) {
        const pl_sum_edge *e = &chain->link[l];
        int v = ring->n_outside + e->a;
        if (ring->link_edge[l] >= 0) continue;
        pl_net_table t = gather(ring, e, chain->block.n_values[e->b], v, v, ring->floor[l], arena);
        for (int x = 0; x < t.rows; x++)
            net->unary[v][x] += (1 - part) * t.cost[(size_t)x * (size_t)t.cols + (size_t)x];
    }
    for (int i = 0; i < chain->n_first + chain->n_last; i++) {
        const pl_sum_edge *e =
            i < chain->n_first ? &chain->first[i] : &chain->last[i - chain->n_first];
        pl_net_join(net, e->a, ring->n_outside + e->b,
                    pl_net_scale(pl_ring_first(ring, e, arena), part, arena), NULL, NULL, arena);
    }
    pl_net_index(net, arena);
    return pl_net_keep(net, pl_net_keeps(net, arena), NULL, false, arena);
}

pl_ring *pl_ring_keep(const pl_ring *ring, bool **keep, pl_net **ends, pl_arena *arena)
{
    pl_ring *kept = PL_NEW(arena, pl_ring);
    *kept = *ring;
    kept->net = pl_net_keep(ring->net, keep, NULL, false, arena);
    if (!kept->net || !ends) return kept->net ? kept : NULL;
    /* What the ring keeps has partners in every copy: no more may go, or places would differ. */
    bool **same = PL_NEW_N(arena, bool *, (*ends)->n), *fixed = PL_NEW_N(arena, bool, (*ends)->n);
    for (int v = 0; v < (*ends)->n; v++) {
        same[v] =
            keep[v < ring->n_outside ? v : ring->n_outside + (v - ring->n_outside) % ring->n_block];
        fixed[v] = true;
    }
    *ends = pl_net_keep(*ends, same, fixed, false, arena);
    return kept;
}
