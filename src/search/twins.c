/* Dominance in a chain (ring.h): a value goes from all copies at once.
 *
 * That is the same as from one copy after the other: a neighbour that still has the value only
 * makes the test harder. Three copies in a row show what a variable can have around it. */
#include "search/ring.h"

enum { COPIES = 3 };

static void add_copies(const pl_ring *f, pl_net *net, pl_arena *a)
{
    const pl_net *ring = f->ring;
    int n = f->n_outside, b = f->n_block;
    for (int v = 0; v < net->n; v++) {
        int r = v < n ? v : n + (v - n) % b;
        pl_net_var(net, v, ring->size[r], ring->value[r], ring->unary[r], a);
    }
    for (int i = 0; i < COPIES; i++) {
        int at = i * b;
        for (int p = f->at_block; p < f->at_link; p++)
            pl_net_join(net, at + ring->pair[p].a, at + ring->pair[p].b, ring->pair[p].table, NULL,
                        NULL, a);
        for (int p = f->at_every; p < ring->n_pairs; p++)
            pl_net_join(net, ring->pair[p].a, at + ring->pair[p].b, ring->pair[p].table, NULL, NULL,
                        a);
    }
}

static void add_ends(const pl_ring *f, pl_net *net, pl_arena *a)
{
    const pl_chain *c = f->chain;
    int n = f->n_outside, b = f->n_block, last = n + (COPIES - 1) * b;
    for (int l = 0; l < c->n_links; l++) {
        const pl_sum_pair *e = &c->link[l];
        const double *to_a, *to_b;
        pl_net_table t = pl_ring_link(f, l, &to_a, &to_b, a);
        for (int at = n; at < last; at += b)
            pl_net_join(net, at + e->a, at + b + e->b, t, NULL, NULL, a);
    }
    for (int i = 0; i < c->n_first; i++)
        pl_net_join(net, c->first[i].a, n + c->first[i].b, pl_ring_first(f, &c->first[i], a), NULL,
                    NULL, a);
    for (int i = 0; i < c->n_last; i++)
        pl_net_join(net, c->last[i].a, last + c->last[i].b, pl_ring_first(f, &c->last[i], a), NULL,
                    NULL, a);
}

/* Rivals by the ring's potentials, tested in all three copies. */
static void dominate_block(const pl_ring *f, pl_net *three, bool **keep, bool *const *all)
{
    for (int v = f->n_outside; v < f->ring->n; v++) {
        int rival[PL_NET_RIVALS], n = pl_net_rivals(f->ring, v, keep[v], rival);
        for (int s = 0; s < f->ring->size[v]; s++)
            for (int i = 0; i < n && keep[v][s]; i++) {
                int t = rival[i];
                bool beaten = t != s && keep[v][t];
                for (int k = 0; beaten && k < COPIES; k++)
                    beaten = pl_net_is_beaten(three, v + k * f->n_block, s, t, all);
                if (beaten) keep[v][s] = false;
            }
    }
}

void pl_ring_dominate(const pl_ring *f, bool **keep, pl_arena *a)
{
    const pl_chain *c = f->chain;
    int n = f->n_outside, b = f->n_block;
    /* A variable outside sees all copies through the ring, but not the ends. */
    bool *fixed = PL_NEW_N(a, bool, n + b);
    for (int v = n; v < n + b; v++) fixed[v] = true;
    for (int i = 0; i < c->n_first; i++) fixed[c->first[i].a] = true;
    for (int i = 0; i < c->n_last; i++) fixed[c->last[i].a] = true;
    pl_net_dominate(f->ring, fixed, keep);
    pl_net *three = pl_net_new(n + COPIES * b, a);
    add_copies(f, three, a);
    add_ends(f, three, a);
    pl_net_index(three, a);
    bool **all = PL_NEW_N(a, bool *, three->n);
    for (int v = 0; v < three->n; v++) all[v] = keep[v < n ? v : n + (v - n) % b];
    dominate_block(f, three, keep, all);
}
