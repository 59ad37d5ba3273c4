/* Elements of a part as products of ranges of digits, and copies between two of them:
 * pl_region_of(), pl_region_copy(). */
#include "placement/region.h"

#include <string.h>

static void add_digit(pl_region *r, int dim, int64_t size, int64_t unit, pl_range x)
{
    if (size > 1) r->digit[r->n++] = (pl_digit){ (int8_t)dim, size, unit, x.lo, x.n };
}

/* What the positions `p` of a window see of a dimension of `extent`. */
static pl_range seen(const pl_split *x, pl_range p, int64_t extent)
{
    if (p.n == x->size) return (pl_range){ 0, extent };
    int64_t lo = x->stride * p.lo - x->pad, hi = x->stride * (p.lo + p.n - 1) + x->reach - x->pad;
    if (lo < 0) lo = 0;
    if (hi > extent) hi = extent;
    return p.n && lo < hi ? (pl_range){ lo, hi - lo } : (pl_range){ lo < extent ? lo : extent, 0 };
}

/* The digit that splits [i, end) share. A dimension of size 1 has no digit, so one that is split
 * over devices gets one all the same: the others hold nothing. */
static void add_split_digit(pl_region *r, const pl_placement *p, int i, int end, const pl_mesh *m,
                            const pl_shape *s, const int coord[])
{
    const pl_split *x = &p->split[i];
    int64_t whole = s->dim[x->dim], size = pl_split_values(x, whole), chunk = size;
    pl_range range = { 0, size };
    for (; i < end; i++) {
        int a = p->split[i].axis;
        range = pl_range_part(range, &chunk, m->axis[a].size, coord[a]);
    }
    if (x->stride) {
        range = seen(x, range, whole);
        size = whole;
    }
    int64_t unit = x->size && !x->stride ? x->unit : 1;
    r->digit[r->n++] = (pl_digit){ x->dim, size, unit, range.lo, range.n };
}

pl_region pl_region_at(const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                       const int coord[])
{
    pl_region r;
    r.n = 0; /* there are far more digits than most have */
    for (int d = 0, i = 0; d < s->rank; d++) {
        int64_t above = s->dim[d]; /* unit of the digit above */
        for (int end; i < p->n && p->split[i].dim == d; i = end) {
            const pl_split *x = &p->split[i];
            int64_t unit = x->size && !x->stride ? x->unit : 1;
            int64_t top = x->size && !x->stride ? x->size * unit : s->dim[d];
            end = pl_placement_end(p, i);
            add_digit(&r, d, above / top, top, (pl_range){ 0, above / top });
            add_split_digit(&r, p, i, end, m, s, coord);
            above = unit;
        }
        add_digit(&r, d, above, 1, (pl_range){ 0, above });
    }
    return r;
}

pl_region pl_region_of(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank)
{
    int coord[PL_MAX_AXES];
    for (int a = m->n - 1; a >= 0; rank /= m->axis[a--].size) coord[a] = rank % m->axis[a].size;
    return pl_region_at(p, m, s, coord);
}

const pl_region *pl_region_new(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int rank,
                               pl_arena *out)
{
    pl_region *r = PL_NEW(out, pl_region);
    *r = pl_region_of(p, m, s, rank);
    return r;
}

int64_t pl_region_count(const pl_region *r)
{
    int64_t n = 1;
    for (int i = 0; i < r->n; i++) n *= r->digit[i].n;
    return n;
}

/* -- the same digits --------------------------------------------------------------------------- */

/* Cuts digit i in two at `unit`, which lies within it. False when its range is no product then. */
static bool cut_digit(pl_region *r, int i, int64_t unit)
{
    pl_digit *x = &r->digit[i];
    int64_t low = unit / x->unit, hi_lo = x->lo / low;
    if (unit % x->unit || x->size % low || r->n == PL_MAX_DIGITS) return false;
    pl_digit hi = { x->dim, x->size / low, unit, hi_lo, x->n / low };
    pl_digit lo = { x->dim, low, x->unit, 0, low };
    if (!x->n) {
        hi.n = 0;
    } else if (x->lo % low || x->n % low) { /* all within one value of the upper digit */
        if ((x->lo + x->n - 1) / low != hi_lo) return false;
        hi.n = 1;
        lo.lo = x->lo % low, lo.n = x->n;
    }
    memmove(x + 2, x + 1, (size_t)(r->n - i - 1) * sizeof *x);
    r->n++;
    x[0] = hi, x[1] = lo;
    return true;
}

/* Every boundary of b's digits of dimension d becomes one of a's. */
static bool cut_like(pl_region *a, const pl_region *b)
{
    for (int j = 0; j < b->n; j++)
        for (int i = 0; i < a->n; i++) {
            const pl_digit *x = &a->digit[i], *y = &b->digit[j];
            int64_t top = y->unit * y->size;
            if (x->dim != y->dim) continue;
            bool above = x->unit < top && top < x->unit * x->size;
            bool below = x->unit < y->unit && y->unit < x->unit * x->size;
            if (above && !cut_digit(a, i, top)) return false;
            if (!above && below && !cut_digit(a, i, y->unit)) return false;
        }
    return true;
}

/* Digits of one value say nothing unless they are empty: all go, and the first that stays is empty
 * then. */
static void strip_ones(pl_region *r, bool empty)
{
    int n = 0;
    for (int i = 0; i < r->n; i++)
        if (r->digit[i].size > 1) r->digit[n++] = r->digit[i];
    if (!n) r->digit[n++] = (pl_digit){ .size = 1, .unit = 1, .n = 1 };
    if (empty) r->digit[0].n = 0;
    r->n = n;
}

static void copy_digits(pl_region *to, const pl_region *from)
{
    to->n = from->n;
    memcpy(to->digit, from->digit, (size_t)from->n * sizeof *from->digit);
}

bool pl_region_cut(pl_region *r, const pl_region *like)
{
    pl_region x;
    copy_digits(&x, r);
    strip_ones(&x, !pl_region_count(&x));
    if (!cut_like(&x, like)) return false;
    copy_digits(r, &x);
    return true;
}

bool pl_region_align(pl_region *a, pl_region *b)
{
    strip_ones(a, !pl_region_count(a));
    strip_ones(b, !pl_region_count(b));
    return cut_like(a, b) && cut_like(b, a) && a->n == b->n;
}

bool pl_region_meet(const pl_region *a, const pl_region *b, pl_region *out)
{
    pl_region y;
    copy_digits(&y, b);
    copy_digits(out, a);
    if (!pl_region_count(a) || !pl_region_count(b)) { /* whatever their digits are */
        strip_ones(out, true);
        return true;
    }
    if (!pl_region_align(out, &y)) return false;
    for (int i = 0; i < y.n; i++) {
        pl_digit *x = &out->digit[i];
        const pl_digit *z = &y.digit[i];
        int64_t hi = x->lo + x->n < z->lo + z->n ? x->lo + x->n : z->lo + z->n;
        if (z->lo > x->lo) x->lo = z->lo;
        x->n = hi > x->lo ? hi - x->lo : 0;
    }
    return true;
}

int64_t pl_region_global(const pl_region *r, const pl_shape *s, int64_t i)
{
    int64_t step[PL_MAX_RANK], at = 0;
    pl_shape_strides(s, step);
    for (int k = r->n - 1; k >= 0; k--) {
        const pl_digit *x = &r->digit[k];
        at += (x->lo + i % x->n) * x->unit * step[x->dim];
        i /= x->n;
    }
    return at;
}

int64_t pl_region_row(const pl_region *r, const pl_shape *s, int64_t *step)
{
    int64_t stride[PL_MAX_RANK];
    *step = 1;
    if (!r->n) return 1;
    const pl_digit *d = &r->digit[r->n - 1];
    pl_shape_strides(s, stride);
    *step = d->unit * stride[d->dim];
    return d->n;
}

/* -- copies ------------------------------------------------------------------------------------ */

/* A loop around what c has so far; one that goes on where its inner one ends only lengthens it. */
static bool add_loop(pl_copy *c, int64_t n, int64_t from, int64_t to)
{
    if (n == 1) return true;
    if (!c->n && from == c->bytes && to == c->bytes) {
        c->bytes *= n;
        return true;
    }
    if (c->n) {
        int k = c->n - 1;
        if (from == c->count[k] * c->from[k] && to == c->count[k] * c->to[k]) {
            c->count[k] *= n;
            return true;
        }
    }
    if (c->n == PL_COPY_LOOPS) return false;
    c->count[c->n] = n, c->from[c->n] = from, c->to[c->n++] = to;
    return true;
}

static void flip_loops(pl_copy *c)
{
    for (int i = 0, j = c->n - 1; i < j; i++, j--) {
        pl_copy x = *c;
        c->count[i] = x.count[j], c->from[i] = x.from[j], c->to[i] = x.to[j];
        c->count[j] = x.count[i], c->from[j] = x.from[i], c->to[j] = x.to[i];
    }
}

bool pl_region_copy(const pl_region *from, const pl_region *to, int64_t size, pl_copy *out)
{
    pl_region x = *from, y = *to, both;
    *out = (pl_copy){ 0 };
    if (!pl_region_count(from) || !pl_region_count(to)) return true;
    out->bytes = size;
    if (!pl_region_align(&x, &y) || !pl_region_meet(&x, &y, &both)) return false;
    PL_ASSERT_CMP(both.n, ==, x.n);
    int64_t from_step = size, to_step = size;
    for (int i = x.n - 1; i >= 0; i--) { /* innermost first */
        out->from_at += (both.digit[i].lo - x.digit[i].lo) * from_step;
        out->to_at += (both.digit[i].lo - y.digit[i].lo) * to_step;
        if (!add_loop(out, both.digit[i].n, from_step, to_step)) return false;
        from_step *= x.digit[i].n, to_step *= y.digit[i].n;
    }
    if (!pl_region_count(&both)) *out = (pl_copy){ 0 };
    flip_loops(out);
    return true;
}

void pl_region_apply(const pl_copy *c, const void *from, void *to)
{
    int64_t i[PL_COPY_LOOPS] = { 0 };
    const char *x = (const char *)from + c->from_at;
    char *y = (char *)to + c->to_at;
    if (!c->bytes) return;
    for (;;) {
        memcpy(y, x, (size_t)c->bytes);
        int k = c->n - 1;
        for (; k >= 0; k--) {
            x += c->from[k], y += c->to[k];
            if (++i[k] < c->count[k]) break;
            x -= c->count[k] * c->from[k], y -= c->count[k] * c->to[k];
            i[k] = 0;
        }
        if (k < 0) return;
    }
}
