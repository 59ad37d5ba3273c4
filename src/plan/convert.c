#include "plan/convert.h"

#include "plan/move.h"

#include <math.h>
#include <string.h>

enum { MOST_DIGITS = 24, MOST_EXTRA = 512 };

typedef struct edge {
    int to;
    double seconds;
} edge;

typedef struct spot {
    pl_placement where;
    uint64_t hash;
    bool plain;     /* sees no windows               */
    bool even;      /* all devices hold equally much */
    pl_shape local; /* of rank 0's part, the largest */
    int64_t count;  /* its elements                  */
    struct {
        int n, cap;
        edge *at;
    } edges;
} spot;

/* The moves between all placements within reach, and what Dijkstra's algorithm needs. */
typedef struct map {
    const pl_mesh *mesh;
    pl_type type;
    const pl_shape *shape;
    pl_arena *arena;
    int n_digits, n, cap, most, n_slots;
    pl_split digit[MOST_DIGITS];
    spot *at;
    int *slot; /* [n_slots] 1 + spot by hash, 0: none */
} map;

/* -- spots ------------------------------------------------------------------------------------- */

/* -1: there is no room for more of them. */
static int find_spot(map *x, const pl_placement *where)
{
    uint64_t hash = pl_placement_hash(where);
    int i = (int)(hash % (uint64_t)x->n_slots);
    for (; x->slot[i]; i = (i + 1) % x->n_slots) {
        const spot *s = &x->at[x->slot[i] - 1];
        if (s->hash == hash && pl_placement_same(&s->where, where)) return x->slot[i] - 1;
    }
    if (x->n == x->most) return -1;
    spot s = { .where = *where, .hash = hash };
    s.even = pl_placement_even(where, x->mesh, x->shape);
    s.local = pl_placement_local(where, x->mesh, x->shape, 0);
    s.count = pl_shape_count(&s.local);
    s.plain = true;
    for (int k = 0; k < where->n; k++) s.plain &= where->split[k].stride == 0;
    PL_PUSH(x->arena, x, s);
    x->slot[i] = x->n;
    return x->n - 1;
}

static void add_digits(map *x, const pl_placement *p)
{
    for (int i = 0; i < p->n; i++) {
        pl_split d = p->split[i];
        bool known = d.stride > 0; /* what sees windows is made by other moves */
        d.axis = -1;
        for (int k = 0; k < x->n_digits && !known; k++)
            known = x->digit[k].dim == d.dim && x->digit[k].size == d.size &&
                    x->digit[k].unit == d.unit;
        if (!known && x->n_digits < MOST_DIGITS) x->digit[x->n_digits++] = d;
    }
}

/* -- moves ------------------------------------------------------------------------------------- */

/* Do the blocks of an axis lie in a part one after another, each dense? `split` has the axis as the
 * minor-most of its digit and the part lacks it: then what is major to that digit must be one
 * position. */
static bool lies_in_order(const map *x, const spot *from, const pl_placement *split, int axis)
{
    const pl_split *s = &split->split[pl_placement_find(split, axis)];
    const pl_placement *part = &from->where;
    int64_t top = s->size ? s->size * s->unit : x->shape->dim[s->dim];
    int64_t above = x->shape->dim[s->dim] / top;
    for (int d = 0; d < s->dim; d++)
        if (from->local.dim[d] > 1) return false;
    for (int i = 0; i < part->n; i++) {
        const pl_split *y = &part->split[i];
        if (y->dim == s->dim && y->size && y->unit >= top) above /= x->mesh->axis[y->axis].size;
    }
    return above <= 1;
}

/* Elements of the largest block of a move of one axis; -1: that has to be looked for. */
static int64_t plain_block(const spot *from, const spot *to, pl_move_kind kind, int axis)
{
    if (!from->plain || !to->plain) return -1;
    if (kind == PL_GATHER || kind == PL_REDUCE) return from->count;
    if (kind != PL_EXCHANGE) return to->count;
    int left = pl_placement_dim(&from->where, axis), taken = pl_placement_dim(&to->where, axis);
    if (left == taken) return -1;
    return from->count / from->local.dim[taken] * to->local.dim[taken];
}

/* Two axes of equal size that change places: each device gives all it has to one other. */
static bool price_swap(const map *x, const spot *from, const spot *to, pl_move *m)
{
    int a = __builtin_ctz(m->axes), b = 31 - __builtin_clz(m->axes);
    bool two = m->kind == PL_EXCHANGE && m->axes == (1u << a | 1u << b);
    if (!two || x->mesh->axis[a].size != x->mesh->axis[b].size || !from->even || !to->even ||
        !from->plain || !to->plain)
        return false;
    m->kind = PL_PERMUTE;
    m->block = from->count;
    m->bytes = pl_move_volume(m->kind, 2, m->block, pl_type_bytes(x->type));
    m->seconds = pl_move_seconds(m->kind, x->mesh, m->axes, m->bytes);
    return true;
}

/* pl_move_price without looking at the blocks, where they are plain. False: it has to look. */
static bool price_plainly(const map *x, const spot *from, const spot *to, pl_move *m)
{
    int axis = __builtin_ctz(m->axes), me, n = pl_move_group(x->mesh, 0, m->axes, &me);
    int64_t element = pl_type_bytes(x->type);
    bool in = m->kind == PL_GATHER || m->kind == PL_EXCHANGE, even = from->even && to->even;
    bool out = m->kind == PL_SCATTER || m->kind == PL_EXCHANGE;
    if (m->kind == PL_EXCHANGE && m->axes & (m->axes - 1)) return price_swap(x, from, to, m);
    if ((m->block = plain_block(from, to, m->kind, axis)) < 0) return false;
    if (m->kind == PL_EXCHANGE && m->block == from->count && m->block == to->count) return false;
    m->bytes = pl_move_volume(m->kind, n, m->block, element);
    m->seconds = pl_move_seconds(m->kind, x->mesh, m->axes, m->bytes);
    if (m->kind == PL_SLICE || m->kind == PL_MASK)
        m->seconds += pl_move_copy_seconds(x->mesh, m->block * element);
    if (out && !(even && lies_in_order(x, from, &m->to, axis)))
        m->seconds += pl_move_copy_seconds(x->mesh, n * m->block * element);
    if (in && !(even && lies_in_order(x, to, &m->from, axis)))
        m->seconds += pl_move_copy_seconds(x->mesh, n * m->block * element);
    return true;
}

/* Does a move change the order of axes in one dimension, or of two axes? */
static bool is_narrow(const pl_move *m)
{
    int axis = __builtin_ctz(m->axes);
    return m->axes & (m->axes - 1) ||
           pl_placement_dim(&m->from, axis) == pl_placement_dim(&m->to, axis);
}

static void add_move(map *x, int from, pl_move_kind kind, unsigned axes, const pl_placement *to)
{
    pl_move m = { .kind = kind, .axes = axes, .from = x->at[from].where, .to = *to };
    if (pl_placement_same(&m.from, to)) return;
    int id = find_spot(x, to);
    if (id < 0) return;
    bool odd = kind == PL_EXCHANGE && !(x->at[from].even && x->at[id].even);
    if (odd && is_narrow(&m)) return;
    if (!price_plainly(x, &x->at[from], &x->at[id], &m) &&
        !pl_move_price(&m, x->type, x->mesh, x->shape))
        return;
    edge e = { id, m.seconds };
    PL_PUSH(x->arena, &x->at[from].edges, e);
}

static void add_slices(map *x, int from, pl_move_kind kind, int axis, const pl_placement *base)
{
    for (int i = 0; i < x->n_digits; i++) {
        pl_placement to = *base;
        pl_split d = x->digit[i];
        d.axis = (int8_t)axis;
        if (pl_placement_slice(&to, x->mesh, x->shape, d)) add_move(x, from, kind, 1u << axis, &to);
    }
}

static pl_placement without_pending(const pl_placement *p, unsigned axes)
{
    pl_placement x = *p;
    x.pending &= (uint8_t)~axes;
    if (!x.pending) x.monoid = PL_SUM;
    return x;
}

static void add_axis_moves(map *x, int from, int axis)
{
    pl_placement where = x->at[from].where, base = where;
    unsigned bit = 1u << axis;
    if (where.pending & bit) {
        base = without_pending(&where, bit);
        add_move(x, from, PL_REDUCE, bit, &base);
        add_slices(x, from, PL_SCATTER, axis, &base);
    } else if (pl_placement_find(&where, axis) >= 0) {
        if (!pl_placement_gather(&base, x->mesh, x->shape, axis)) return;
        add_move(x, from, PL_GATHER, bit, &base);
        add_slices(x, from, PL_EXCHANGE, axis, &base);
    } else {
        add_slices(x, from, PL_SLICE, axis, &base);
        if (where.pending && where.monoid != PL_SUM) return;
        base.pending |= (uint8_t)bit;
        add_move(x, from, PL_MASK, bit, &base);
    }
}

/* Two axes of as many devices change places. */
static void add_swaps(map *x, int from)
{
    const pl_placement where = x->at[from].where;
    for (int i = 0; i < where.n; i++)
        for (int j = i + 1; j < where.n; j++) {
            pl_placement to = where;
            int a = where.split[i].axis, b = where.split[j].axis;
            to.split[i].axis = (int8_t)b, to.split[j].axis = (int8_t)a;
            to = pl_placement_normal(&to, x->mesh, x->shape);
            add_move(x, from, PL_EXCHANGE, 1u << a | 1u << b, &to);
        }
}

static void add_moves(map *x, int from)
{
    unsigned pending = x->at[from].where.pending;
    for (int a = 0; a < x->mesh->n; a++)
        if (x->mesh->axis[a].size > 1) add_axis_moves(x, from, a);
    add_swaps(x, from);
    if (pending & (pending - 1)) {
        pl_placement to = without_pending(&x->at[from].where, pending);
        add_move(x, from, PL_REDUCE, pending, &to);
    }
}

/* -- paths ------------------------------------------------------------------------------------- */

/* A heap of spots by their distance. */
typedef struct heap {
    int n;
    int *at, *place; /* place[spot]: where it stands, -1: nowhere */
    double *far;
} heap;

static void put(heap *h, int i, int s)
{
    h->at[i] = s;
    h->place[s] = i;
}

static void rise(heap *h, int s)
{
    int i = h->place[s];
    for (; i > 0 && h->far[h->at[(i - 1) / 2]] > h->far[s]; i = (i - 1) / 2)
        put(h, i, h->at[(i - 1) / 2]);
    put(h, i, s);
}

static int pop(heap *h)
{
    int first = h->at[0], s = h->at[--h->n], i = 0;
    h->place[first] = -1;
    if (!h->n) return first;
    for (int k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && h->far[h->at[k + 1]] < h->far[h->at[k]]) k++;
        if (h->far[h->at[k]] >= h->far[s]) break;
        put(h, i, h->at[k]);
    }
    put(h, i, s);
    return first;
}

/* Distances from one spot to all (Dijkstra, 1959). */
static void walk(const map *x, int from, heap *h)
{
    for (int i = 0; i < x->n; i++) h->far[i] = INFINITY, h->place[i] = -1;
    h->n = 1;
    h->far[from] = 0;
    put(h, 0, from);
    while (h->n) {
        int s = pop(h);
        for (int i = 0; i < x->at[s].edges.n; i++) {
            edge e = x->at[s].edges.at[i];
            double far = h->far[s] + e.seconds;
            if (far >= h->far[e.to]) continue;
            if (h->far[e.to] == INFINITY) h->place[e.to] = h->n++;
            h->far[e.to] = far;
            rise(h, e.to);
        }
    }
}

pl_convert pl_convert_all(const pl_mesh *m, pl_type type, const pl_shape *shape, int n,
                          const pl_placement at[], pl_arena *arena)
{
    pl_arena *tmp = pl_arena_new("convert");
    map x = { .mesh = m, .type = type, .shape = shape, .arena = tmp, .most = n + MOST_EXTRA };
    double *seconds = PL_NEW_N(arena, double, n *n);
    x.n_slots = 2 * x.most;
    x.slot = PL_NEW_N(tmp, int, x.n_slots);
    for (int i = 0; i < n; i++) {
        int id = find_spot(&x, &at[i]);
        PL_ASSERT_CMP(id, ==, i); /* they differ */
        add_digits(&x, &at[i]);
    }
    for (int d = 0; d < shape->rank; d++)
        add_digits(&x, &(pl_placement){ .n = 1, .split = { { .dim = (int8_t)d } } });
    for (int i = 0; i < x.n; i++) add_moves(&x, i);
    heap h = { .at = PL_NEW_N(tmp, int, x.n), .place = PL_NEW_N(tmp, int, x.n) };
    h.far = PL_NEW_N(tmp, double, x.n);
    for (int i = 0; i < n; i++) {
        walk(&x, i, &h);
        memcpy(seconds + (ptrdiff_t)i * n, h.far, (size_t)n * sizeof *seconds);
    }
    pl_arena_free(tmp);
    return (pl_convert){ n, seconds };
}
