#include "ops/lib/lookup.h"

#include "graph/op.h"
#include "graph/walk.h"
#include "ops/lib/move.h"

int64_t pl_lookup_row(const pl_walk *w, const void *const in[], int ids, int table)
{
    const pl_node *n = w->share->node;
    const int letter = pl_sig_find(n->sig, n->op->lookup[0]);
    pl_range rows = w->share->factor[letter];
    double row = pl_type_get(n->in[ids]->type, in[ids], w->at[ids]) - (double)rows.lo;
    return row >= 0 && row < (double)rows.n ? (int64_t)row * w->stride[table][letter] : -1;
}

/* What is summed: letters of the ids that the result lacks. */
static uint32_t bag_of(const pl_node *n)
{
    return pl_walk_mask(n, 1) & ~pl_walk_mask(n, 2);
}

static double add_bag(const pl_share *s, const void *const in[], const pl_walk *at)
{
    pl_walk w = pl_walk_new(s, bag_of(s->node));
    double sum = 0;
    pl_walk_to(&w, at);
    do {
        const int64_t row = pl_lookup_row(&w, in, 1, 0);
        if (row >= 0) sum += pl_type_get(s->node->in[0]->type, in[0], w.at[0] + row);
    } while (pl_walk_next(&w));
    return sum;
}

void pl_lookup_take(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 2));
    const bool adds = bag_of(s->node) != 0;
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        const int64_t row = adds ? -1 : pl_lookup_row(&w, in, 1, 0);
        if (adds) pl_type_put(t, out[0], w.at[2], add_bag(s, in, &w));
        if (row >= 0) pl_move_element(t, out[0], w.at[2], in[0], w.at[0] + row);
    } while (pl_walk_next(&w));
}

double pl_lookup_take_flops(const pl_share *s)
{
    const uint32_t summed = bag_of(s->node);
    return summed ? (double)(pl_shape_count(pl_share_out(s, 0)) * pl_walk_points(s, summed)) : 0;
}

void pl_lookup_add(const pl_share *s, const void *const in[], void *const out[])
{
    pl_type t = s->node->out[0]->type;
    pl_walk w = pl_walk_new(s, pl_walk_mask(s->node, 0) | pl_walk_mask(s->node, 1));
    pl_move_zero(t, out[0], pl_shape_count(pl_share_out(s, 0)));
    do {
        int64_t row = pl_lookup_row(&w, in, 0, 2), to = w.at[2] + row;
        if (row < 0) continue;
        pl_type_put(t, out[0], to, pl_type_get(t, out[0], to) + pl_type_get(t, in[1], w.at[1]));
    } while (pl_walk_next(&w));
}

double pl_lookup_add_flops(const pl_share *s)
{
    return (double)pl_walk_points(s, pl_walk_mask(s->node, 0) | pl_walk_mask(s->node, 1));
}
