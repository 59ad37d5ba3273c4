/* Dominance in a chain (ring.h): a value goes from all copies at once.
 *
 * That is the same as from one copy after the other: a neighbour that still has the value only
 * makes the test harder. Three copies in a row show what a variable can have around it. */
#include "chain/ring.h"

enum { COPIES = 3 };

static void add_copies(const pl_ring *ring, pl_net *net, pl_arena *arena)
{
    const pl_net *one = ring->net;
    int n = ring->n_outside, b = ring->n_block;
    for (int v = 0; v < net->n; v++) {
        int r = v < n ? v : n + (v - n) % b;
        pl_net_var(net, v, one->size[r], one->value[r], one->unary[r], arena);
    }
    for (int i = 0; i < COPIES; i++) {
        int at = i * b;
        for (int p = ring->at_block; p < ring->at_link; p++)
            pl_net_join(net, at + one->edge[p].a, at + one->edge[p].b, one->edge[p].table, NULL,
                        NULL, arena);
        for (int p = ring->at_every; p < one->n_edges; p++)
            pl_net_join(net, one->edge[p].a, at + one->edge[p].b, one->edge[p].table, NULL, NULL,
                        arena);
    }
}

static void add_ends(const pl_ring *ring, pl_net *net, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    int n = ring->n_outside, b = ring->n_block, last = n + (COPIES - 1) * b;
    for (int l = 0; l < chain->n_links; l++) {
        const pl_sum_edge *e = &chain->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(ring, l, &to_a, &to_b, arena);
        for (int at = n; at < last; at += b)
            pl_net_join(net, at + e->a, at + b + e->b, t, NULL, NULL, arena);
    }
    for (int i = 0; i < chain->n_first; i++)
        pl_net_join(net, chain->first[i].a, n + chain->first[i].b,
                    pl_ring_first(ring, &chain->first[i], arena), NULL, NULL, arena);
    for (int i = 0; i < chain->n_last; i++)
        pl_net_join(net, chain->last[i].a, last + chain->last[i].b,
                    pl_ring_first(ring, &chain->last[i], arena), NULL, NULL, arena);
}

/* Rivals by the ring's potentials, tested in all three copies. */
static void dominate_block(const pl_ring *ring, pl_net *three, bool **keep, bool *const *all)
{
    for (int v = ring->n_outside; v < ring->net->n; v++) {
        int rival[PL_NET_RIVALS], n = pl_net_rivals(ring->net, v, keep[v], rival);
        for (int s = 0; s < ring->net->size[v]; s++)
            for (int i = 0; i < n && keep[v][s]; i++) {
                int t = rival[i];
                bool beaten = t != s && keep[v][t];
                for (int k = 0; beaten && k < COPIES; k++)
                    beaten = pl_net_is_beaten(three, v + k * ring->n_block, s, t, all);
                if (beaten) keep[v][s] = false;
            }
    }
}

void pl_ring_dominate(const pl_ring *ring, bool **keep, pl_arena *arena)
{
    const pl_chain *chain = ring->chain;
    int n = ring->n_outside, b = ring->n_block;
    /* A variable outside sees all copies through the ring, but not the ends. */
    bool *fixed = PL_NEW_N(arena, bool, n + b);
    for (int v = n; v < n + b; v++) fixed[v] = true;
    for (int i = 0; i < chain->n_first; i++) fixed[chain->first[i].a] = true;
    for (int i = 0; i < chain->n_last; i++) fixed[chain->last[i].a] = true;
    pl_net_dominate(ring->net, fixed, keep);
    pl_net *three = pl_net_new(n + COPIES * b, arena);
    add_copies(ring, three, arena);
    add_ends(ring, three, arena);
    pl_net_index(three, arena);
    bool **all = PL_NEW_N(arena, bool *, three->n);
    for (int v = 0; v < three->n; v++) all[v] = keep[v < n ? v : n + (v - n) % b];
    dominate_block(ring, three, keep, all);
}
