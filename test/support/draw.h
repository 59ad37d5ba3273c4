/* Random meshes, shapes and legal placements, and who owns what, straight from the definition in
 * placement/placement.h: the slow twin of placement/region.c. */
#ifndef PL_TEST_SUPPORT_DRAW_H
#define PL_TEST_SUPPORT_DRAW_H
#include "support/expect.h"
#include "base/rng.h"
#include "placement/region.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct lot {
    pl_rng rng;
    uint64_t drawn, seed;
} lot;

static inline lot draw_from(uint64_t seed)
{
    return (lot){ .rng = pl_rng_at(seed, 0), .seed = seed };
}

static inline int draw(lot *l, int below)
{
    return (int)pl_rng_below(l->rng, l->drawn++, (uint64_t)below);
}

static inline pl_mesh draw_mesh(lot *l)
{
    pl_mesh m = { .n = draw(l, 5) };
    for (int i = 0; i < m.n; i++) {
        m.axis[i].size = 1 + draw(l, i < 2 ? 4 : 3);
        snprintf(m.axis[i].name, sizeof m.axis[i].name, "x%d", i);
    }
    return m;
}

/* At most 400 elements. */
static inline pl_shape draw_shape(lot *l)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 6, 8, 12, 24 };
    pl_shape s = { .rank = draw(l, 4) };
    int64_t room = 400;
    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = sizes[draw(l, 9)];
        if (s.dim[d] > room) s.dim[d] = 1;
        room /= s.dim[d];
    }
    return s;
}

static inline int64_t draw_divisor(lot *l, int64_t n)
{
    int64_t d = 1 + draw(l, (int)n);
    while (n % d) d--;
    return d;
}

enum { WITH_WINDOWS = 1, WITH_DIGITS = 2 };

/* A split of what the digits so far (down to unit `above`) left of a dimension. */
static inline pl_split draw_split(lot *l, int dim, int64_t size, int64_t above, bool first,
                                  int with)
{
    pl_split x = { .dim = (int8_t)dim };
    int kind = first ? draw(l, 6) : 5;
    if (kind == 0 && with & WITH_WINDOWS) {
        x.size = 1 + draw(l, (int)size + 1);
        x.stride = 1 + draw(l, 3), x.reach = 1 + draw(l, 4), x.pad = draw(l, 3);
    } else if (kind > 2 && with & WITH_DIGITS) {
        int64_t top = draw_divisor(l, above);
        x.unit = draw_divisor(l, top);
        x.size = top / x.unit;
    }
    return x;
}

/* Axes in any order on any dimension, pending or nowhere. */
static inline pl_placement draw_placement(lot *l, const pl_mesh *m, const pl_shape *s, int with)
{
    pl_placement p = { .monoid = (pl_monoid)draw(l, PL_N_MONOIDS) };
    int axis[PL_MAX_AXES];
    int64_t above[PL_MAX_RANK];
    pl_split last[PL_MAX_RANK];
    for (int d = 0; d < s->rank; d++) above[d] = s->dim[d], last[d].axis = -1;
    for (int i = 0; i < m->n; i++) axis[i] = i;
    for (int i = m->n - 1; i > 0; i--) {
        int k = draw(l, i + 1), x = axis[i];
        axis[i] = axis[k], axis[k] = x;
    }
    for (int i = 0; i < m->n; i++) {
        int d = draw(l, s->rank + 2);
        if (d == s->rank) p.pending |= (uint8_t)(1u << axis[i]);
        if (d >= s->rank) continue;
        pl_split x = last[d];
        bool digit = x.axis < 0 || (x.size && !x.stride && draw(l, 2));
        if (digit) x = draw_split(l, d, s->dim[d], above[d], last[d].axis < 0, with);
        if (x.size && !x.stride) above[d] = x.unit;
        x.axis = (int8_t)axis[i];
        last[d] = x;
        pl_placement_add(&p, x);
    }
    return p;
}

/* Is position v one of those that rank has of the n that splits [i, end) share out? */
static inline bool has_position(const pl_placement *p, const pl_mesh *m, int i, int end, int64_t n,
                                int64_t v, int rank)
{
    for (; i < end; i++) {
        int a = p->split[i].axis, parts = m->axis[a].size;
        n = (n + parts - 1) / parts;
        if (v / n != pl_mesh_coord(m, rank, a)) return false;
        v %= n;
    }
    return true;
}

/* Does rank hold index `at` of the dimension that splits [i, end), of one digit, split? */
static inline bool has_index(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int i,
                             int end, int64_t at, int rank)
{
    const pl_split *x = &p->split[i];
    bool from_below = false, from_above = false, all = true;
    if (!x->stride) {
        int64_t size = x->size ? x->size : s->dim[x->dim], unit = x->size ? x->unit : 1;
        return has_position(p, m, i, end, size, at / unit % size, rank);
    }
    for (int64_t v = 0; v < x->size; v++) /* of a window: between its first and its last position */
        if (has_position(p, m, i, end, x->size, v, rank)) {
            from_below |= v * x->stride - x->pad <= at;
            from_above |= at < v * x->stride - x->pad + x->reach;
        } else {
            all = false;
        }
    return all || (from_below && from_above);
}

/* Does rank hold element e (row-major) of the whole tensor? */
static inline bool owns(const pl_placement *p, const pl_mesh *m, const pl_shape *s, int64_t e,
                        int rank)
{
    int64_t at[PL_MAX_RANK];
    for (int d = s->rank - 1; d >= 0; e /= s->dim[d--]) at[d] = e % s->dim[d];
    for (int i = 0, end; i < p->n; i = end) {
        const pl_split *x = &p->split[i];
        for (end = i + 1; end < p->n; end++) {
            const pl_split *y = &p->split[end];
            if (y->dim != x->dim || y->unit != x->unit || y->size != x->size) break;
        }
        if (!has_index(p, m, s, i, end, at[x->dim], rank)) return false;
    }
    return true;
}

#endif
