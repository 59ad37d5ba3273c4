/* Shares. Read pl_share_whole() and pl_share_cut(), which gives every operand its local shape
 * and every window its halo (set_shapes); then pl_share_globals(), the way back to global
 * positions. */
#include "graph/share.h"

#include <string.h>

pl_range pl_range_part(pl_range range, int64_t *chunk, int parts, int me)
{
    *chunk = (*chunk + parts - 1) / parts;
    int64_t skip = *chunk * me < range.n ? *chunk * me : range.n;
    return (pl_range){ range.lo + skip, range.n - skip < *chunk ? range.n - skip : *chunk };
}

static const pl_operand *operand_of(const pl_node *n, int o)
{
    return &n->sig->operand[o];
}

static const pl_shape *whole_shape(const pl_node *n, int o)
{
    return &pl_node_value(n, o)->shape;
}

pl_share pl_share_whole(const pl_node *node)
{
    pl_share share = { .node = node };
    for (int f = 0; f < node->sig->n_factors; f++)
        share.factor[f] = (pl_range){ 0, node->sig->factor[f].size };
    for (int i = 0; i < node->n_in; i++) share.shape[i] = node->in[i]->shape;
    for (int i = 0; i < node->n_out; i++) share.shape[node->n_in + i] = node->out[i]->shape;
    for (int o = 0; o < node->n_in + node->n_out; o++)
        for (int j = 0; j < operand_of(node, o)->rank; j++) {
            int w = operand_of(node, o)->dim[j].window;
            if (w >= 0) share.halo[w] = (pl_range){ 0, whole_shape(node, o)->dim[j] };
        }
    memcpy(share.window, node->sig->window, sizeof share.window);
    return share;
}

/* What a window reads when its positions are [lo, lo + n): clipped to the input, the rest is
 * pad. */
static void cut_window(pl_share *share, int w, int64_t extent)
{
    const pl_window *whole = &share->node->sig->window[w];
    pl_range p = share->factor[whole->position], tap = share->factor[whole->tap];
    int64_t lo = whole->stride * p.lo - whole->pad_lo;
    int64_t hi =
        whole->stride * (p.lo + p.n - 1) + whole->dilation * (tap.n - 1) + 1 - whole->pad_lo;
    int64_t from = lo < 0 ? 0 : lo > extent ? extent : lo;
    int64_t to = hi > extent ? extent : hi < from ? from : hi;
    if (p.n == share->node->sig->factor[whole->position].size) from = 0, to = extent;
    if (!p.n) to = hi = from;
    share->halo[w] = (pl_range){ from, to - from };
    share->window[w].pad_lo = from - lo;
    share->window[w].pad_hi = hi - to;
}

static void set_shapes(pl_share *share)
{
    const pl_node *n = share->node;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        for (int j = 0; j < operand_of(n, o)->rank; j++) {
            const pl_sig_dim *d = &operand_of(n, o)->dim[j];
            int64_t size = 1;
            for (int k = 0; k < d->n; k++) size *= share->factor[d->factor[k]].n;
            if (d->window >= 0) {
                cut_window(share, d->window, whole_shape(n, o)->dim[j]);
                size = share->halo[d->window].n;
            }
            share->shape[o].dim[j] = size;
        }
}

void pl_share_cut(pl_share *share, int f, int64_t lo, int64_t n)
{
    PL_ASSERT_CMP(lo + n, <=, share->factor[f].n);
    share->factor[f].lo += lo;
    share->factor[f].n = n;
    set_shapes(share);
}

bool pl_share_touches(const pl_node *node, int o, int f)
{
    return pl_sig_has(operand_of(node, o), node->sig, f);
}

bool pl_share_can_cut(const pl_node *node, int f)
{
    const pl_factor *x = &node->sig->factor[f];
    if (x->whole || x->tap || x->size < 2) return false;
    /* A window in an output overlaps itself: a sum over a halo. */
    for (int i = 0; i < node->n_out; i++)
        for (int j = 0; j < pl_sig_out(node->sig, i)->rank; j++) {
            int w = pl_sig_out(node->sig, i)->dim[j].window;
            if (w >= 0 && node->sig->window[w].position == f) return false;
        }
    return true;
}

bool pl_share_same_index(const pl_node *node, int a, int b)
{
    const pl_operand *x = operand_of(node, a), *y = operand_of(node, b);
    bool same = x->rank == y->rank;
    for (int j = 0; same && j < x->rank; j++) {
        const pl_sig_dim *d = &x->dim[j], *e = &y->dim[j];
        same = d->n == e->n && d->window == e->window &&
               !memcmp(d->factor, e->factor, (size_t)d->n * sizeof d->factor[0]);
    }
    return same;
}

pl_range pl_share_range(const pl_share *share, char letter, int64_t *whole)
{
    int f = pl_sig_find(share->node->sig, letter);
    *whole = f < 0 ? 1 : share->node->sig->factor[f].size;
    return f < 0 ? (pl_range){ 0, 1 } : share->factor[f];
}

/* One level per factor (or window) of an operand, outermost first. */
void pl_share_globals(const pl_share *share, int operand, pl_globals *globals)
{
    const pl_node *n = share->node;
    const pl_operand *o = operand_of(n, operand);
    const pl_shape *whole = whole_shape(n, operand);
    int64_t local = 1, global = 1;
    globals->n = 0;
    for (int j = o->rank - 1; j >= 0; j--) {
        const pl_sig_dim *d = &o->dim[j];
        if (d->window >= 0) {
            pl_range h = share->halo[d->window];
            globals->level[globals->n].n = h.n, globals->level[globals->n].lo = h.lo;
            globals->level[globals->n].local = local, globals->level[globals->n++].global = global;
            local *= h.n, global *= whole->dim[j];
        }
        for (int k = d->n - 1; k >= 0; k--) {
            pl_range r = share->factor[d->factor[k]];
            globals->level[globals->n].n = r.n, globals->level[globals->n].lo = r.lo;
            globals->level[globals->n].local = local, globals->level[globals->n++].global = global;
            local *= r.n, global *= n->sig->factor[d->factor[k]].size;
        }
    }
}

int64_t pl_globals_at(const pl_globals *globals, int64_t i)
{
    int64_t at = 0;
    for (int k = 0; k < globals->n; k++)
        at += (i / globals->level[k].local % globals->level[k].n + globals->level[k].lo) *
              globals->level[k].global;
    return at;
}

static size_t element_bytes(const pl_share *s, int o)
{
    const pl_node *n = s->node;
    return (size_t)pl_type_bytes(pl_node_value(n, o)->type);
}

void pl_share_take(const pl_share *share, int operand, const void *whole, void *part)
{
    pl_globals g;
    size_t size = element_bytes(share, operand);
    pl_share_globals(share, operand, &g);
    for (int64_t i = 0, n = pl_shape_count(&share->shape[operand]); i < n; i++)
        memcpy((char *)part + (size_t)i * size,
               (const char *)whole + (size_t)pl_globals_at(&g, i) * size, size);
}

void pl_share_give(const pl_share *share, int operand, const void *part, void *whole)
{
    pl_globals g;
    size_t size = element_bytes(share, operand);
    pl_share_globals(share, operand, &g);
    for (int64_t i = 0, n = pl_shape_count(&share->shape[operand]); i < n; i++)
        memcpy((char *)whole + (size_t)pl_globals_at(&g, i) * size,
               (const char *)part + (size_t)i * size, size);
}
