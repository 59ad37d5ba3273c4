/* All placements of a tensor on a small mesh and all moves between them, each found and priced from
 * the definitions in reshard/reshard.h and reshard/move.h by counting elements: the slow twin of
 * the search. */
#ifndef PL_TEST_SUPPORT_UNIVERSE_H
#define PL_TEST_SUPPORT_UNIVERSE_H
#include "support/draw.h"
#include "reshard/reshard.h"

enum { RANKS = 8, WORDS = 8, NODES = 600, EDGES = 100000 }; /* up to 512 elements */

typedef struct bits {
    uint64_t w[WORDS];
} bits;

typedef struct node {
    pl_placement p;
    bool even;
    bits has[RANKS];
} node;

typedef struct edge {
    int from, to;
    pl_collective kind;
    unsigned axes;
    double seconds;
} edge;

typedef struct universe {
    pl_mesh mesh;
    pl_shape shape;
    pl_type type;
    bool digits; /* axes split any digit of as many values, all parts are even; else dimensions */
    int ranks, n, n_edges;
    node at[NODES];
    edge edge[EDGES];
} universe;

static inline int count_bits(const bits *x)
{
    int n = 0;
    for (int i = 0; i < WORDS; i++) n += __builtin_popcountll(x->w[i]);
    return n;
}

static inline bits bits_and(const bits *x, const bits *y)
{
    bits z;
    for (int i = 0; i < WORDS; i++) z.w[i] = x->w[i] & y->w[i];
    return z;
}

static inline bool is_within(const bits *x, const bits *y)
{
    for (int i = 0; i < WORDS; i++)
        if (x->w[i] & ~y->w[i]) return false;
    return true;
}

static inline bits owned_by(const universe *u, const pl_placement *p, int rank)
{
    bits x = { { 0 } };
    for (int64_t e = 0; e < pl_shape_count(&u->shape); e++)
        if (owns(p, &u->mesh, &u->shape, e, rank)) x.w[e / 64] |= 1ull << e % 64;
    return x;
}

static inline int find_node(const universe *u, const pl_placement *p)
{
    for (int i = 0; i < u->n; i++)
        if (pl_placement_same(&u->at[i].p, p)) return i;
    return -1;
}

static inline void add_node(universe *u, const pl_placement *p)
{
    if (!pl_placement_check(p, &u->mesh, &u->shape, &(pl_err){ 0 })) return;
    pl_placement x = pl_placement_normal(p, &u->mesh, &u->shape);
    bool even = pl_placement_even(&x, &u->mesh, &u->shape);
    if ((u->digits && !even) || find_node(u, &x) >= 0) return;
    assert_true(u->n < NODES);
    node *y = &u->at[u->n++];
    y->p = x;
    y->even = even;
    for (int r = 0; r < u->ranks; r++) y->has[r] = owned_by(u, &x, r);
}

static inline void place_axes(universe *u, const pl_placement *p, unsigned left);

/* The axis alone splits a digit of the dimension: each that has as many values. */
static inline void place_on_digits(universe *u, const pl_placement *p, unsigned left, int dim,
                                   int axis)
{
    int size = u->mesh.axis[axis].size;
    for (int64_t unit = 1; unit <= u->shape.dim[dim] / size; unit++) {
        if (u->shape.dim[dim] % (unit * size)) continue;
        pl_placement x = *p;
        pl_placement_add(&x, (pl_split){ (int8_t)dim, (int8_t)axis, size, unit, 0, 0, 0 });
        place_axes(u, &x, left);
    }
}

/* Axes of `left` stand nowhere yet; each goes to the end of a dimension, of a digit, is pending, or
 * stays. In all orders. */
static inline void place_axes(universe *u, const pl_placement *p, unsigned left)
{
    add_node(u, p);
    for (int a = 0; a < u->mesh.n; a++) {
        if (!(left >> a & 1)) continue;
        unsigned rest = left & ~(1u << a);
        for (int d = 0; d < u->shape.rank; d++) {
            pl_placement x = *p;
            pl_placement_split(&x, d, a);
            place_axes(u, &x, rest);
            if (u->digits) place_on_digits(u, p, rest, d, a);
        }
        pl_placement x = *p;
        x.pending |= (uint8_t)(1u << a);
        if (p->pending >> a == 0) place_axes(u, &x, rest); /* a set: in one order */
    }
}

/* -- moves ------------------------------------------------------------------------------------- */

static inline int group_of(const universe *u, int rank, unsigned axes, int out[RANKS])
{
    int me;
    return pl_mesh_group(&u->mesh, rank, axes, out, &me);
}

/* Every device finds all that it must have in its group. */
static inline bool is_covered(const universe *u, const node *x, const node *y, unsigned axes)
{
    for (int r = 0; r < u->ranks; r++) {
        int group[RANKS], n = group_of(u, r, axes, group);
        bits all = { { 0 } };
        for (int i = 0; i < n; i++)
            for (int w = 0; w < WORDS; w++) all.w[w] |= x->has[group[i]].w[w];
        if (!is_within(&y->has[r], &all)) return false;
    }
    return true;
}

/* Do the blocks, one after the other and each with room for the largest, hold what `part` holds in
 * that order? */
static inline bool is_in_order(const universe *u, const bits *part, const node *others,
                               unsigned axes, int room)
{
    int group[RANKS], n = group_of(u, 0, axes, group), seen = -1;
    if (n * room != count_bits(part)) return false;
    for (int i = 0; i < n; i++) {
        bits block = bits_and(part, &others->has[group[i]]);
        for (int e = 0; e < 64 * WORDS; e++) {
            if (!(block.w[e / 64] >> e % 64 & 1)) continue;
            if (e <= seen) return false;
            seen = e;
        }
    }
    return true;
}

static inline double axis_most(const pl_mesh *m, unsigned axes, bool latency)
{
    double most = 0;
    for (int a = 0; a < m->n; a++) {
        double x = latency ? m->axis[a].latency : m->axis[a].per_byte;
        if (x == 0) x = latency ? 5e-6 : 1e-10;
        if (axes >> a & 1 && x > most) most = x;
    }
    return most;
}

/* Seconds by the formulas of reshard/move.h. */
static inline double price(const universe *u, const node *x, const node *y, pl_collective *kind,
                           unsigned axes)
{
    int group[RANKS], block = 0, part = count_bits(&x->has[0]);
    bool whole = true;
    int n = group_of(u, 0, axes, group);
    for (int r = 0; r < u->ranks; r++) {
        int members[RANKS];
        group_of(u, r, axes, members);
        for (int i = 0; i < n; i++) {
            bits both = bits_and(&x->has[members[i]], &y->has[r]);
            int k = count_bits(&both);
            if (k > block) block = k;
            whole &= !k || (k == count_bits(&x->has[members[i]]) && k == count_bits(&y->has[r]));
        }
    }
    double latency = axis_most(&u->mesh, axes, true), byte = axis_most(&u->mesh, axes, false);
    double bytes = (double)pl_type_bytes(u->type), copy = 0.2e-6 + bytes * n * block / 20e9;
    if (*kind == PL_ALL_TO_ALL && whole) *kind = PL_PERMUTE;
    bool even = x->even && y->even;
    bool out = !even || !is_in_order(u, &x->has[0], y, axes, block);
    bool in = !even || !is_in_order(u, &y->has[0], x, axes, block);
    switch (*kind) {
    case PL_ALL_GATHER: return (n - 1) * (latency + bytes * block * byte) + in * copy;
    case PL_REDUCE_SCATTER: return (n - 1) * (latency + bytes * block * byte) + out * copy;
    case PL_ALL_TO_ALL: return (n - 1) * (latency + bytes * block * byte) + (in + out) * copy;
    case PL_PERMUTE: return latency + bytes * block * byte;
    case PL_ALL_REDUCE: return 2 * (n - 1) * latency + bytes * (2 * (n - 1) * part / n) * byte;
    default: return 0.2e-6 + bytes * block / 20e9;
    }
}

/* What happens to an axis: 'c'opied, 's'plit or 'p'ending before and after. */
static inline int role_of(const pl_placement *p, int axis)
{
    return p->pending >> axis & 1 ? 'p' : pl_placement_find(p, axis) >= 0 ? 's' : 'c';
}

/* The kind of a move in which the axes of a group have these roles, or -1. */
static inline int kind_of(int before, int after)
{
    static const struct {
        char before, after;
        pl_collective kind;
    } kinds[] = { { 'c', 's', PL_SLICE },
                  { 's', 'c', PL_ALL_GATHER },
                  { 's', 's', PL_ALL_TO_ALL },
                  { 'p', 's', PL_REDUCE_SCATTER },
                  { 'p', 'c', PL_ALL_REDUCE } };
    for (int i = 0; i < 5; i++)
        if (kinds[i].before == before && kinds[i].after == after) return (int)kinds[i].kind;
    return -1;
}

/* The kind of a move over `axes` from x to y, or -1: the axes all do the same, others stay where
 * they are. Several axes at once: for PL_ALL_TO_ALL and PL_ALL_REDUCE. */
static inline int find_kind(const universe *u, const node *x, const node *y, unsigned axes)
{
    int kind = -1;
    for (int a = 0; a < u->mesh.n; a++) {
        int before = role_of(&x->p, a), after = role_of(&y->p, a);
        if (!(axes >> a & 1)) {
            if (before != after) return -1;
            if (pl_placement_dim(&x->p, a) != pl_placement_dim(&y->p, a)) return -1;
            continue;
        }
        int k = kind_of(before, after);
        if (k < 0 || (kind >= 0 && k != kind)) return -1;
        kind = k;
    }
    if (axes & (axes - 1) && kind != PL_ALL_TO_ALL && kind != PL_ALL_REDUCE) return -1;
    bool alone = kind == PL_SLICE || kind == PL_REDUCE_SCATTER || kind == PL_ALL_REDUCE;
    if (kind < 0 || !is_covered(u, x, y, alone ? 0 : axes)) return -1;
    if (kind == PL_ALL_REDUCE && !is_covered(u, y, x, 0)) return -1;
    return kind;
}

static inline void link_nodes(universe *u)
{
    for (int i = 0; i < u->n; i++)
        for (int k = 0; k < u->n; k++)
            for (unsigned axes = 1; axes < 1u << u->mesh.n && i != k; axes++) {
                const node *x = &u->at[i], *y = &u->at[k];
                int found = find_kind(u, x, y, axes);
                if (found < 0 || pl_move_block(&x->p, &y->p, axes, &u->mesh, &u->shape) < 0)
                    continue; /* blocks of odd splits are no products */
                edge e = { i, k, (pl_collective)found, axes, 0 };
                e.seconds = price(u, x, y, &e.kind, axes);
                assert_true(u->n_edges < EDGES);
                u->edge[u->n_edges++] = e;
            }
}

static inline void make_universe(universe *u, const pl_mesh *m, const pl_shape *s, pl_type type,
                                 bool digits)
{
    *u = (universe){ .mesh = *m, .shape = *s, .type = type, .digits = digits };
    u->ranks = pl_mesh_ranks(m);
    assert_true(u->ranks <= RANKS && pl_shape_count(s) <= 64 * WORDS);
    place_axes(u, &(pl_placement){ 0 }, (1u << m->n) - 1);
    link_nodes(u);
}

/* Steps of one move more: false when none is cheaper. */
static inline bool lower_least(const universe *u, bool even, double least[NODES])
{
    static double next[NODES];
    bool lower = false;
    memcpy(next, least, sizeof next);
    for (int i = 0; i < u->n_edges; i++) {
        const edge *e = &u->edge[i];
        double sum = least[e->from] + e->seconds;
        if (sum >= next[e->to] || (even && !u->at[e->to].even)) continue;
        next[e->to] = sum;
        lower = true;
    }
    memcpy(least, next, sizeof next);
    return lower;
}

/* The least seconds from a node to each over at most `moves` moves, 1e300: no way; even: by even
 * parts alone. */
static inline void find_least(const universe *u, int from, int moves, bool even,
                              double least[NODES])
{
    for (int i = 0; i < u->n; i++) least[i] = i == from ? 0 : 1e300;
    for (int k = 0; k < moves && lower_least(u, even, least); k++) {}
}

#endif
