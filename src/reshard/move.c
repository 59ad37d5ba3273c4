/* What one move is and costs: blocks, bytes, seconds. Read pl_move_price(). */
#include "reshard/move.h"

#include "reshard/halo.h"

static const double default_latency = 5e-6, default_per_byte = 1 / 10e9; /* seconds              */
static const double default_copy_start = 0.2e-6,
                    default_copy_per_byte = 1 / 20e9; /* of a copy of memory  */

int pl_move_group(const pl_mesh *m, int rank, unsigned axes, int *me)
{
    int n = 1;
    *me = 0;
    for (int a = 0; a < m->n; a++) {
        if (!(axes >> a & 1)) continue;
        n *= m->axis[a].size;
        *me = *me * m->axis[a].size + pl_mesh_coord(m, rank, a);
    }
    return n;
}

int pl_move_member(const pl_mesh *m, int rank, unsigned axes, int i)
{
    for (int a = m->n - 1, step = 1; a >= 0; step *= m->axis[a--].size) {
        if (!(axes >> a & 1)) continue;
        int size = m->axis[a].size;
        rank += (i % size - rank / step % size) * step;
        i /= size;
    }
    return rank;
}

int pl_move_members(const pl_mesh *m, unsigned axes)
{
    int n = 1;
    for (int a = 0; axes >> a; a++)
        if (axes >> a & 1) n *= m->axis[a].size;
    return n;
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* Where all devices of a placement hold equally much, rank r holds [k n, k n + n) of each digit of
 * which rank 0 holds [0, n), for some k. Are all these products of ranges when cut like b? */
static bool cut_evenly(const pl_region *a, const pl_region *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < 2 * b->n; j++) {
            const pl_digit *x = &a->digit[i], *y = &b->digit[j / 2];
            int64_t at = j % 2 ? y->unit : y->unit * y->size, top = x->unit * x->size;
            if (x->dim != y->dim || at <= x->unit || top <= at) continue;
            int64_t low = at / x->unit;
            if (at % x->unit || top % at || (x->n % low && low % x->n)) return false;
        }
    return true;
}

/* The block that rank 0 keeps is as large as any: of two ranges that start at 0, one is in the
 * other. */
static int64_t even_block(const pl_placement *from, const pl_placement *to, const pl_mesh *m,
                          const pl_shape *s)
{
    pl_region a = pl_region_of(from, m, s, 0), b = pl_region_of(to, m, s, 0), both;
    if (!cut_evenly(&a, &b) || !cut_evenly(&b, &a) || !pl_region_meet(&a, &b, &both)) return -1;
    return pl_region_count(&both);
}

/* What the blocks of all groups are like. */
typedef struct blocks {
    int64_t most; /* elements of the largest, -1: some are no products of ranges               */
    bool whole;   /* each block that is not empty is all that its sender and its receiver have */
    bool lacks;   /* some device does not find all of its part                                 */
} blocks;

/* What a rank has. Where `cut`, its digits are those that both placements of a move have. */
typedef struct held {
    pl_region region;
    int64_t count; /* elements */
    bool cut;
} held;

static held cut_held(const pl_placement *p, int rank, const pl_region *other, const pl_mesh *m,
                     const pl_shape *s)
{
    held x = { .region = pl_region_of(p, m, s, rank) };
    x.cut = pl_region_cut(&x.region, other);
    x.count = pl_region_count(&x.region);
    return x;
}

/* Elements that both have, -1 when they are no product. */
static int64_t count_common(const held *x, const held *y)
{
    pl_region both;
    int64_t n = 1;
    if (!x->cut || !y->cut)
        return pl_region_meet(&x->region, &y->region, &both) ? pl_region_count(&both) : -1;
    for (int i = 0; i < x->region.n; i++) {
        const pl_digit *a = &x->region.digit[i], *b = &y->region.digit[i];
        int64_t lo = a->lo > b->lo ? a->lo : b->lo;
        int64_t hi = a->lo + a->n < b->lo + b->n ? a->lo + a->n : b->lo + b->n;
        if (hi <= lo) return 0;
        n *= hi - lo;
    }
    return n;
}

static void see_block(const held *from, const held *to, blocks *b, int64_t *found)
{
    int64_t n = count_common(from, to);
    *found += n;
    if (n < 0)
        b->most = -1;
    else if (n > b->most)
        b->most = n;
    b->whole &= !n || (n == from->count && n == to->count);
}

/* Of the ranks that differ only on other axes than these the first is enough: in dimensions that a
 * move leaves as they are, it has the largest part. */
static bool is_first(const pl_mesh *m, int rank, unsigned axes)
{
    for (int a = 0; a < m->n; a++)
        if (!(axes >> a & 1) && pl_mesh_coord(m, rank, a)) return false;
    return true;
}

/* The blocks that some members of rank's group receive, from `first` on. */
static void see_receivers(const pl_move *x, int rank, int first, const pl_mesh *m,
                          const pl_shape *s, blocks *out)
{
    enum { MOST = 16 };
    held to[MOST];
    int64_t found[MOST] = { 0 };
    const unsigned split = pl_placement_differ(&x->from, &x->to);
    const pl_region a = pl_region_of(&x->from, m, s, 0), b = pl_region_of(&x->to, m, s, 0);
    int n = pl_move_members(m, x->axes), last = n < first + MOST ? n : first + MOST;
    for (int i = first; i < last; i++)
        to[i - first] = cut_held(&x->to, pl_move_member(m, rank, x->axes, i), &a, m, s);
    for (int k = 0; k < n && out->most >= 0; k++) {
        int sender = pl_move_member(m, rank, x->axes, k);
        if (!is_first(m, sender, split)) continue;
        held from = cut_held(&x->from, sender, &b, m, s);
        for (int i = first; i < last && out->most >= 0; i++)
            see_block(&from, &to[i - first], out, &found[i - first]);
    }
    for (int i = first; i < last; i++) out->lacks |= found[i - first] < to[i - first].count;
}

static blocks uneven_blocks(const pl_move *x, const pl_mesh *m, const pl_shape *s)
{
    blocks b = { .whole = true };
    unsigned split = pl_placement_differ(&x->from, &x->to);
    for (int r = 0, me, ranks = pl_mesh_ranks(m); r < ranks && b.most >= 0; r++) {
        int n = pl_move_group(m, r, x->axes, &me);
        if (me || !is_first(m, r, split)) continue;
        for (int first = 0; first < n && b.most >= 0; first += 16)
            see_receivers(x, r, first, m, s, &b);
    }
    return b;
}

int64_t pl_move_block(const pl_placement *from, const pl_placement *to, unsigned axes,
                      const pl_mesh *m, const pl_shape *s)
{
    if (pl_placement_even(from, m, s) && pl_placement_even(to, m, s))
        return even_block(from, to, m, s);
    pl_move x = { .kind = PL_ALL_TO_ALL, .axes = axes, .from = *from, .to = *to };
    return uneven_blocks(&x, m, s).most;
}

/* Elements of a device's part where all have equally many. */
static int64_t even_part(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    return pl_shape_count(s) / pl_move_members(m, pl_placement_axes(p));
}

/* Where parts are even, a device has all of a block before an axis splits it, or afterwards if it
 * gathers. */
static blocks even_blocks(const pl_move *x, const pl_mesh *m, const pl_shape *s)
{
    int64_t from = even_part(&x->from, m, s), to = even_part(&x->to, m, s);
    if (x->kind == PL_ALL_GATHER || x->kind == PL_ALL_REDUCE) return (blocks){ .most = from };
    if (x->kind != PL_ALL_TO_ALL) return (blocks){ .most = to };
    int axis = __builtin_ctz(x->axes);
    if (x->axes == 1u << axis && /* dimensions are cut by turns */
        pl_placement_dim(&x->from, axis) != pl_placement_dim(&x->to, axis))
        return (blocks){ .most = from / m->axis[axis].size };
    int64_t n = even_block(&x->from, &x->to, m, s);
    return (blocks){ .most = n, .whole = n == from && n == to };
}

/* -- price ------------------------------------------------------------------------------------- */

int64_t pl_move_volume(pl_collective k, int n, int64_t block, int64_t element_bytes)
{
    switch (k) {
    case PL_ALL_GATHER:
    case PL_REDUCE_SCATTER:
    case PL_ALL_TO_ALL: return (n - 1) * block * element_bytes;
    case PL_PERMUTE:
    case PL_HALO: return block * element_bytes;
    case PL_ALL_REDUCE: return 2 * (n - 1) * block / n * element_bytes;
    default: return 0;
    }
}

/* The worst figure of a group's axes; 0 stands for the usual one. */
static double worst(const pl_mesh *m, unsigned axes, size_t figure, double usual)
{
    double most = 0;
    for (int a = 0; a < m->n; a++) {
        double x = *(const double *)((const char *)&m->axis[a] + figure);
        if (axes >> a & 1 && (x > 0 ? x : usual) > most) most = x > 0 ? x : usual;
    }
    return most;
}

#define WORST(field, usual) worst(m, axes, offsetof(pl_mesh_axis, field), usual)

double pl_move_seconds(pl_collective k, const pl_mesh *m, unsigned axes, int64_t bytes)
{
    static const int rounds[PL_N_COLLECTIVES] = {
        [PL_ALL_GATHER] = 1, [PL_REDUCE_SCATTER] = 1, [PL_ALL_TO_ALL] = 1, [PL_ALL_REDUCE] = 2
    };
    int hops = k == PL_PERMUTE || k == PL_HALO ? 1 : rounds[k] * (pl_move_members(m, axes) - 1);
    double per_byte = WORST(per_byte, default_per_byte);
    if (k == PL_ALL_TO_ALL) per_byte = WORST(exchange_per_byte, per_byte);
    return hops
               ? WORST(start, 0) + hops * WORST(latency, default_latency) + (double)bytes * per_byte
               : 0;
}

static bool split_alike(const pl_placement *a, const pl_placement *b, int dim)
{
    int i = 0, k = 0;
    while (i < a->n && a->split[i].dim < dim) i++;
    while (k < b->n && b->split[k].dim < dim) k++;
    for (;; i++, k++) {
        const pl_split *x = &a->split[i], *y = &b->split[k];
        bool more = i < a->n && x->dim == dim;
        if (more != (k < b->n && y->dim == dim)) return false;
        if (!more) return true;
        if (x->axis != y->axis || x->size != y->size || x->unit != y->unit) return false;
    }
}

/* Is the first dimension of which a device's part has more than one value not cut by the others? */
static bool begin_alike(const pl_placement *part, const pl_placement *others, const pl_mesh *m,
                        const pl_shape *s)
{
    for (int d = 0; d < s->rank; d++) {
        int64_t left = s->dim[d];
        for (int i = 0; i < part->n; i++)
            if (part->split[i].dim == d) left /= m->axis[part->split[i].axis].size;
        if (left > 1) return split_alike(part, others, d);
    }
    return false;
}

/* Are the blocks, in the order of the group, a member's part as it lies in memory? Of large groups
 * no answer is sought. */
static bool in_order(const pl_placement *part, const pl_placement *others, unsigned axes,
                     int64_t block, const pl_mesh *m, const pl_shape *s)
{
    int n = pl_move_members(m, axes);
    if (begin_alike(part, others, m, s)) return false;
    pl_region mine = pl_region_of(part, m, s, 0);
    if (n * block != pl_region_count(&mine)) return false;
    for (int i = n - 1; i > 0; i--) {
        pl_region x = pl_region_of(others, m, s, pl_move_member(m, 0, axes, i));
        pl_region both;
        pl_copy c;
        if (!pl_region_meet(&mine, &x, &both) || !pl_region_copy(&mine, &both, 1, &c)) return false;
        if (c.n || c.bytes != block || c.from_at != i * block) return false;
        if (i > 8 && __builtin_popcount(axes) == 1) i = 2; /* then those between do so as well */
    }
    return true;
}

double pl_move_copy_seconds(const pl_mesh *m, int64_t bytes)
{
    double start = m->copy_start > 0 ? m->copy_start : default_copy_start;
    double per_byte = m->copy_per_byte > 0 ? m->copy_per_byte : default_copy_per_byte;
    return start + (double)bytes * per_byte;
}

static double memory_seconds(const pl_move *x, bool even, int64_t element, const pl_mesh *m,
                             const pl_shape *s)
{
    int64_t bytes = pl_move_members(m, x->axes) * x->block * element;
    bool out = x->kind == PL_REDUCE_SCATTER || x->kind == PL_ALL_TO_ALL;
    bool in = x->kind == PL_ALL_GATHER || x->kind == PL_ALL_TO_ALL;
    if (x->kind == PL_SLICE || x->kind == PL_MASK)
        return pl_move_copy_seconds(m, x->block * element);
    if (out && even && in_order(&x->from, &x->to, x->axes, x->block, m, s)) out = false;
    if (in && even && in_order(&x->to, &x->from, x->axes, x->block, m, s)) in = false;
    return (out ? pl_move_copy_seconds(m, bytes) : 0) + (in ? pl_move_copy_seconds(m, bytes) : 0);
}

static bool price_halo(pl_move *x, int64_t element, const pl_mesh *m, const pl_shape *s)
{
    pl_shift shift[PL_MAX_SHIFTS];
    if (pl_halo_shifts(x, m, s, shift) < 0) return false;
    x->block = 0;
    for (int r = 0, ranks = pl_mesh_ranks(m); r < ranks; r++) {
        int64_t lack = pl_halo_lack(x, m, s, r);
        if (lack > x->block) x->block = lack;
    }
    x->bytes = pl_move_volume(PL_HALO, 0, x->block, element);
    x->seconds = pl_move_seconds(PL_HALO, m, x->axes, x->bytes) +
                 pl_move_copy_seconds(m, 2 * x->bytes) +
                 pl_move_copy_seconds(m, pl_placement_room(&x->to, m, s) * element);
    return true;
}

bool pl_move_price(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s)
{
    if (x->kind == PL_HALO) return price_halo(x, pl_type_bytes(type), m, s);
    bool even = pl_placement_even(&x->from, m, s) && pl_placement_even(&x->to, m, s);
    blocks b = even ? even_blocks(x, m, s) : uneven_blocks(x, m, s);
    int64_t element = pl_type_bytes(type);
    if (b.most < 0 || (x->kind == PL_ALL_TO_ALL && b.lacks)) return false;
    if (x->kind == PL_ALL_TO_ALL && b.whole) x->kind = PL_PERMUTE;
    x->block = b.most;
    x->bytes = pl_move_volume(x->kind, pl_move_members(m, x->axes), x->block, element);
    x->seconds =
        pl_move_seconds(x->kind, m, x->axes, x->bytes) + memory_seconds(x, even, element, m, s);
    return true;
}
