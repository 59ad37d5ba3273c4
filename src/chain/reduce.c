/* A chain whose parts are reduced, each by itself. */
#include "chain/reduce.h"

#include "search/net.h"

static void keep_ends(int n, const pl_sum_edge *edge, bool *keep_a, bool *keep_b)
{
    for (int p = 0; p < n; p++) keep_a[edge[p].a] = keep_b[edge[p].b] = true;
}

/* The edges between two parts, for what is left of these. */
static const pl_sum_edge *weigh_edges(int n, const pl_sum_edge *edge, const pl_sum *a,
                                      const pl_sum *b, const int *place_a, const int *place_b,
                                      pl_cost weights, pl_arena *arena)
{
    pl_sum_edge *to = PL_NEW_N(arena, pl_sum_edge, n + 1);
    for (int p = 0; p < n; p++) {
        const pl_sum_edge *e = &edge[p];
        const pl_net_table t =
            pl_net_weigh(e->time, e->memory, a->n_values[e->a], b->n_values[e->b], weights, arena);
        to[p] = (pl_sum_edge){ place_a[e->a], place_b[e->b], t.cost, NULL };
    }
    return to;
}

pl_reduced_chain *pl_chain_reduce(const pl_chain *chain, pl_cost weights, pl_arena *arena)
{
    const pl_sum *o = &chain->outside, *b = &chain->block;
    bool *outside = PL_NEW_N(arena, bool, o->n + 1), *block = PL_NEW_N(arena, bool, b->n + 1);
    keep_ends(chain->n_links, chain->link, block, block);
    keep_ends(chain->n_first, chain->first, outside, block);
    keep_ends(chain->n_last, chain->last, outside, block);
    keep_ends(chain->n_every, chain->every, outside, block);
    pl_reduced_chain *r = PL_NEW(arena, pl_reduced_chain);
    r->outside = pl_sum_reduce(o, weights, outside, arena);
    r->block = pl_sum_reduce(b, weights, block, arena);
    const int *from = r->outside->place, *to = r->block->place;
    r->chain = *chain;
    r->chain.outside = r->outside->sum;
    r->chain.block = r->block->sum;
    r->chain.link = weigh_edges(chain->n_links, chain->link, b, b, to, to, weights, arena);
    r->chain.first = weigh_edges(chain->n_first, chain->first, o, b, from, to, weights, arena);
    r->chain.last = weigh_edges(chain->n_last, chain->last, o, b, from, to, weights, arena);
    r->chain.every = weigh_edges(chain->n_every, chain->every, o, b, from, to, weights, arena);
    return r;
}

int *pl_reduced_chain_drop(const pl_reduced_chain *reduced, const int *value, pl_arena *arena)
{
    const pl_chain *chain = &reduced->chain;
    int *left = pl_arena_get(arena, (size_t)pl_chain_variables(chain), sizeof *left), *to = left;
    pl_reduced_drop(reduced->outside, value, to);
    value += reduced->outside->n, to += chain->outside.n;
    for (int i = 0; i < chain->copies; i++) {
        pl_reduced_drop(reduced->block, value, to);
        value += reduced->block->n, to += chain->block.n;
    }
    return left;
}

int *pl_reduced_chain_restore(const pl_reduced_chain *reduced, const int *left, pl_arena *arena)
{
    const pl_chain *chain = &reduced->chain;
    const size_t n =
        (size_t)reduced->outside->n + (size_t)chain->copies * (size_t)reduced->block->n;
    int *value = pl_arena_get(arena, n, sizeof *value), *to = value;
    pl_reduced_restore(reduced->outside, left, to);
    left += chain->outside.n, to += reduced->outside->n;
    for (int i = 0; i < chain->copies; i++) {
        pl_reduced_restore(reduced->block, left, to);
        left += chain->block.n, to += reduced->block->n;
    }
    return value;
}
