#include "ops/lib/route.h"

enum { T, K, E, C };

pl_route pl_route_new(const pl_share *s, int operand, const void *ids)
{
    const pl_node *n = s->node;
    uint32_t groups = pl_walk_mask(n, operand) & ~pl_walk_letters(n, "tk");
    pl_route r = { .group = pl_walk_new(s, groups), .operand = operand, .ids = ids };
    for (int i = 0; i < 4; i++) r.factor[i] = pl_sig_find(n->sig, "tkec"[i]);
    r.index[T] = -1;
    return r;
}

/* To the next choice of the group, then the next expert, then the next group. */
static bool advance(pl_route *r)
{
    const pl_range *range = r->group.share->factor;
    for (int i = T; i <= E; i++) {
        if (i == E) r->n_slots = 0;
        if (++r->index[i] < range[r->factor[i]].n) return true;
        r->index[i] = 0;
    }
    return pl_walk_next(&r->group);
}

bool pl_route_next(pl_route *r)
{
    const pl_share *s = r->group.share;
    const int64_t *stride = r->group.stride[r->operand];
    pl_type type = s->node->in[r->operand]->type;
    while (advance(r)) {
        int64_t at = r->group.at[r->operand] + r->index[T] * stride[r->factor[T]] +
                     r->index[K] * stride[r->factor[K]];
        double expert = (double)(s->factor[r->factor[E]].lo + r->index[E]);
        if (pl_type_get(type, r->ids, at) != expert || r->n_slots == s->factor[r->factor[C]].n)
            continue;
        r->index[C] = r->n_slots++;
        for (int o = 0; o < s->node->n_in + s->node->n_out; o++) {
            r->at[o] = r->group.at[o];
            for (int i = T; i <= C; i++) r->at[o] += r->index[i] * r->group.stride[o][r->factor[i]];
        }
        return true;
    }
    return false;
}

static double id_of(const pl_route *r, int64_t t, int64_t k)
{
    const int64_t *stride = r->group.stride[r->operand];
    const int64_t at =
        r->group.at[r->operand] + t * stride[r->factor[T]] + k * stride[r->factor[K]];
    return pl_type_get(r->group.share->node->in[r->operand]->type, r->ids, at);
}

int64_t pl_route_slot(const pl_route *r, int64_t t, int64_t k, int64_t *expert)
{
    const pl_range *range = r->group.share->factor;
    const double id = id_of(r, t, k), e = id - (double)range[r->factor[E]].lo;
    int64_t before = 0;
    if (!(e >= 0 && e < (double)range[r->factor[E]].n)) return -1;
    *expert = (int64_t)e;
    for (int64_t j = 0; j <= k; j++)
        for (int64_t i = 0; i < (j < k ? range[r->factor[T]].n : t); i++)
            before += id_of(r, i, j) == id;
    return before < range[r->factor[C]].n ? before : -1;
}

double pl_route_flops(const pl_share *s)
{
    int64_t experts;
    const pl_range here = pl_share_range(s, 'e', &experts);
    double flops = 2 * (double)here.n / (double)experts;
    for (int f = 0; f < s->node->sig->n_factors; f++)
        if (s->node->sig->factor[f].letter != 'e') flops *= (double)s->factor[f].n;
    return flops;
}
