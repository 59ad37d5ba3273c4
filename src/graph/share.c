#include "graph/share.h"

#include <string.h>

pl_range pl_range_part(pl_range r, int64_t *chunk, int parts, int me)
{
    *chunk = (*chunk + parts - 1) / parts;
    int64_t skip = *chunk * me < r.n ? *chunk * me : r.n;
    return (pl_range){ r.lo + skip, r.n - skip < *chunk ? r.n - skip : *chunk };
}

static const pl_operand *operand_of(const pl_node *n, int o)
{
    return &n->sig->operand[o];
}

static pl_shape *shape_of(pl_share *s, int o)
{
    int n_in = s->node->n_in;
    return o < n_in ? &s->in[o] : &s->out[o - n_in];
}

static const pl_shape *whole_shape(const pl_node *n, int o)
{
    return &pl_node_value(n, o)->shape;
}

pl_share pl_share_whole(const pl_node *n)
{
    pl_share s = { .node = n };
    for (int f = 0; f < n->sig->n_factors; f++)
        s.factor[f] = (pl_range){ 0, n->sig->factor[f].size };
    for (int i = 0; i < n->n_in; i++) s.in[i] = n->in[i]->shape;
    for (int i = 0; i < n->n_out; i++) s.out[i] = n->out[i]->shape;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        for (int j = 0; j < operand_of(n, o)->rank; j++) {
            int w = operand_of(n, o)->dim[j].window;
            if (w >= 0) s.halo[w] = (pl_range){ 0, whole_shape(n, o)->dim[j] };
        }
    memcpy(s.window, n->sig->window, sizeof s.window);
    return s;
}

/* What a window reads when its positions are [lo, lo + n): clipped to the input, the rest is
 * pad. */
static void cut_window(pl_share *s, int w, int64_t extent)
{
    const pl_window *whole = &s->node->sig->window[w];
    pl_range p = s->factor[whole->position], tap = s->factor[whole->tap];
    int64_t lo = whole->stride * p.lo - whole->pad_lo;
    int64_t hi =
        whole->stride * (p.lo + p.n - 1) + whole->dilation * (tap.n - 1) + 1 - whole->pad_lo;
    int64_t from = lo < 0 ? 0 : lo > extent ? extent : lo;
    int64_t to = hi > extent ? extent : hi < from ? from : hi;
    if (p.n == s->node->sig->factor[whole->position].size) from = 0, to = extent;
    if (!p.n) to = hi = from;
    s->halo[w] = (pl_range){ from, to - from };
    s->window[w].pad_lo = from - lo;
    s->window[w].pad_hi = hi - to;
}

static void set_shapes(pl_share *s)
{
    const pl_node *n = s->node;
    for (int o = 0; o < n->n_in + n->n_out; o++)
        for (int j = 0; j < operand_of(n, o)->rank; j++) {
            const pl_sig_dim *d = &operand_of(n, o)->dim[j];
            int64_t size = 1;
            for (int k = 0; k < d->n; k++) size *= s->factor[d->factor[k]].n;
            if (d->window >= 0) {
                cut_window(s, d->window, whole_shape(n, o)->dim[j]);
                size = s->halo[d->window].n;
            }
            shape_of(s, o)->dim[j] = size;
        }
}

void pl_share_cut(pl_share *s, int f, int64_t lo, int64_t n)
{
    PL_ASSERT_CMP(lo + n, <=, s->factor[f].n);
    s->factor[f].lo += lo;
    s->factor[f].n = n;
    set_shapes(s);
}

bool pl_share_touches(const pl_node *n, int o, int f)
{
    return pl_sig_has(operand_of(n, o), n->sig, f);
}

bool pl_share_can_cut(const pl_node *n, int f)
{
    const pl_factor *x = &n->sig->factor[f];
    if (x->whole || x->tap || x->size < 2) return false;
    /* A window in an output overlaps itself: a sum over a halo. */
    for (int i = 0; i < n->n_out; i++)
        for (int j = 0; j < pl_sig_out(n->sig, i)->rank; j++) {
            int w = pl_sig_out(n->sig, i)->dim[j].window;
            if (w >= 0 && n->sig->window[w].position == f) return false;
        }
    return true;
}

bool pl_share_same_index(const pl_node *n, int a, int b)
{
    const pl_operand *x = operand_of(n, a), *y = operand_of(n, b);
    bool same = x->rank == y->rank;
    for (int j = 0; same && j < x->rank; j++) {
        const pl_sig_dim *d = &x->dim[j], *e = &y->dim[j];
        same = d->n == e->n && d->window == e->window &&
               !memcmp(d->factor, e->factor, (size_t)d->n * sizeof d->factor[0]);
    }
    return same;
}

pl_range pl_share_range(const pl_share *s, char letter, int64_t *whole)
{
    int f = pl_sig_find(s->node->sig, letter);
    *whole = f < 0 ? 1 : s->node->sig->factor[f].size;
    return f < 0 ? (pl_range){ 0, 1 } : s->factor[f];
}

/* One level per factor (or window) of an operand, outermost first. */
void pl_share_globals(const pl_share *s, int operand, pl_globals *g)
{
    const pl_node *n = s->node;
    const pl_operand *o = operand_of(n, operand);
    const pl_shape *whole = whole_shape(n, operand);
    int64_t local = 1, global = 1;
    g->n = 0;
    for (int j = o->rank - 1; j >= 0; j--) {
        const pl_sig_dim *d = &o->dim[j];
        if (d->window >= 0) {
            pl_range h = s->halo[d->window];
            g->level[g->n].n = h.n, g->level[g->n].lo = h.lo;
            g->level[g->n].local = local, g->level[g->n++].global = global;
            local *= h.n, global *= whole->dim[j];
        }
        for (int k = d->n - 1; k >= 0; k--) {
            pl_range r = s->factor[d->factor[k]];
            g->level[g->n].n = r.n, g->level[g->n].lo = r.lo;
            g->level[g->n].local = local, g->level[g->n++].global = global;
            local *= r.n, global *= n->sig->factor[d->factor[k]].size;
        }
    }
}

int64_t pl_globals_at(const pl_globals *g, int64_t i)
{
    int64_t at = 0;
    for (int k = 0; k < g->n; k++)
        at += (i / g->level[k].local % g->level[k].n + g->level[k].lo) * g->level[k].global;
    return at;
}

static int64_t part_count(const pl_share *s, int o)
{
    int n_in = s->node->n_in;
    return pl_shape_count(o < n_in ? &s->in[o] : &s->out[o - n_in]);
}

static size_t element_bytes(const pl_share *s, int o)
{
    const pl_node *n = s->node;
    return (size_t)pl_type_bytes(pl_node_value(n, o)->type);
}

void pl_share_take(const pl_share *s, int operand, const void *whole, void *part)
{
    pl_globals g;
    size_t size = element_bytes(s, operand);
    pl_share_globals(s, operand, &g);
    for (int64_t i = 0, n = part_count(s, operand); i < n; i++)
        memcpy((char *)part + (size_t)i * size,
               (const char *)whole + (size_t)pl_globals_at(&g, i) * size, size);
}

void pl_share_give(const pl_share *s, int operand, const void *part, void *whole)
{
    pl_globals g;
    size_t size = element_bytes(s, operand);
    pl_share_globals(s, operand, &g);
    for (int64_t i = 0, n = part_count(s, operand); i < n; i++)
        memcpy((char *)whole + (size_t)pl_globals_at(&g, i) * size,
               (const char *)part + (size_t)i * size, size);
}
