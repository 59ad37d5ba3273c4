#include "plan/move.h"

#include "plan/halo.h"

static const double default_latency = 5e-6, default_per_byte = 1 / 10e9; /* seconds              */
static const double copy_latency = 0.2e-6, copy_per_byte = 1 / 20e9;     /* of a copy of memory  */

const char *pl_move_name(pl_move_kind k)
{
    static const char *const names[PL_N_MOVES] = { "slice",   "mask",     "gather",  "reduce",
                                                   "scatter", "exchange", "permute", "halo" };
    return names[k];
}

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

static int members_of(const pl_mesh *m, unsigned axes)
{
    int me;
    return pl_move_group(m, 0, axes, &me);
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
} blocks;

static void see_block(const pl_region *from, const pl_region *to, blocks *b)
{
    pl_region both;
    if (!pl_region_meet(from, to, &both)) {
        b->most = -1;
        return;
    }
    int64_t n = pl_region_count(&both);
    if (n > b->most) b->most = n;
    b->whole &= !n || (n == pl_region_count(from) && n == pl_region_count(to));
}

/* Of the ranks that differ only on other axes than these the first is enough: in dimensions that a
 * move leaves as they are, it has the largest part. */
static bool is_first(const pl_mesh *m, int rank, unsigned axes)
{
    for (int a = 0; a < m->n; a++)
        if (!(axes >> a & 1) && pl_mesh_coord(m, rank, a)) return false;
    return true;
}

static blocks uneven_blocks(const pl_placement *from, const pl_placement *to, unsigned axes,
                            const pl_mesh *m, const pl_shape *s)
{
    blocks b = { 0, true };
    unsigned split = pl_placement_differ(from, to);
    for (int r = 0, ranks = pl_mesh_ranks(m); r < ranks && b.most >= 0; r++) {
        if (!is_first(m, r, split)) continue;
        pl_region y = pl_region_of(to, m, s, r);
        for (int i = 0, n = members_of(m, axes); i < n && b.most >= 0; i++) {
            int sender = pl_move_member(m, r, axes, i);
            if (!is_first(m, sender, split)) continue;
            pl_region x = pl_region_of(from, m, s, sender);
            see_block(&x, &y, &b);
        }
    }
    return b;
}

static blocks blocks_of(const pl_placement *from, const pl_placement *to, unsigned axes,
                        const pl_mesh *m, const pl_shape *s)
{
    if (!pl_placement_even(from, m, s) || !pl_placement_even(to, m, s))
        return uneven_blocks(from, to, axes, m, s);
    pl_shape x = pl_placement_local(from, m, s, 0), y = pl_placement_local(to, m, s, 0);
    int64_t n = even_block(from, to, m, s);
    return (blocks){ n, n == pl_shape_count(&x) && n == pl_shape_count(&y) };
}

int64_t pl_move_block(const pl_placement *from, const pl_placement *to, unsigned axes,
                      const pl_mesh *m, const pl_shape *s)
{
    return blocks_of(from, to, axes, m, s).most;
}

/* -- price ------------------------------------------------------------------------------------- */

int64_t pl_move_volume(pl_move_kind k, int n, int64_t block, int64_t element_bytes)
{
    switch (k) {
    case PL_GATHER:
    case PL_SCATTER:
    case PL_EXCHANGE: return (n - 1) * block * element_bytes;
    case PL_PERMUTE:
    case PL_HALO: return block * element_bytes;
    case PL_REDUCE: return 2 * (n - 1) * block / n * element_bytes;
    default: return 0;
    }
}

double pl_move_latency(const pl_mesh *m, unsigned axes)
{
    double most = 0;
    for (int a = 0; a < m->n; a++) {
        double x = m->axis[a].latency > 0 ? m->axis[a].latency : default_latency;
        if (axes >> a & 1 && x > most) most = x;
    }
    return most;
}

double pl_move_per_byte(const pl_mesh *m, unsigned axes)
{
    double most = 0;
    for (int a = 0; a < m->n; a++) {
        double x = m->axis[a].per_byte > 0 ? m->axis[a].per_byte : default_per_byte;
        if (axes >> a & 1 && x > most) most = x;
    }
    return most;
}

double pl_move_seconds(pl_move_kind k, const pl_mesh *m, unsigned axes, int64_t bytes)
{
    static const int rounds[PL_N_MOVES] = {
        [PL_GATHER] = 1, [PL_SCATTER] = 1, [PL_EXCHANGE] = 1, [PL_REDUCE] = 2
    };
    int n = k == PL_PERMUTE || k == PL_HALO ? 1 : rounds[k] * (members_of(m, axes) - 1);
    return n * pl_move_latency(m, axes) + (double)bytes * pl_move_per_byte(m, axes);
}

/* Are the blocks, in the order of the group, a member's part as it lies in memory? Of large groups
 * no answer is sought. */
static bool in_order(const pl_placement *part, const pl_placement *others, unsigned axes,
                     int64_t block, const pl_mesh *m, const pl_shape *s)
{
    int n = members_of(m, axes);
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

static double copy_seconds(int64_t bytes)
{
    return copy_latency + (double)bytes * copy_per_byte;
}

static double memory_seconds(const pl_move *x, int64_t element, const pl_mesh *m, const pl_shape *s)
{
    int64_t bytes = members_of(m, x->axes) * x->block * element;
    bool out = x->kind == PL_SCATTER || x->kind == PL_EXCHANGE;
    bool in = x->kind == PL_GATHER || x->kind == PL_EXCHANGE;
    bool even = (out || in) && pl_placement_even(&x->from, m, s) && pl_placement_even(&x->to, m, s);
    if (x->kind == PL_SLICE || x->kind == PL_MASK) return copy_seconds(x->block * element);
    if (out && even && in_order(&x->from, &x->to, x->axes, x->block, m, s)) out = false;
    if (in && even && in_order(&x->to, &x->from, x->axes, x->block, m, s)) in = false;
    return (out ? copy_seconds(bytes) : 0) + (in ? copy_seconds(bytes) : 0);
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
    x->seconds = pl_move_seconds(PL_HALO, m, x->axes, x->bytes) + copy_seconds(2 * x->bytes) +
                 copy_seconds(pl_placement_room(&x->to, m, s) * element);
    return true;
}

bool pl_move_price(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s)
{
    if (x->kind == PL_HALO) return price_halo(x, pl_type_bytes(type), m, s);
    blocks b = blocks_of(&x->from, &x->to, x->axes, m, s);
    int64_t element = pl_type_bytes(type);
    if (b.most < 0) return false;
    if (x->kind == PL_EXCHANGE && b.whole) x->kind = PL_PERMUTE;
    x->block = b.most;
    x->bytes = pl_move_volume(x->kind, members_of(m, x->axes), x->block, element);
    x->seconds = pl_move_seconds(x->kind, m, x->axes, x->bytes) + memory_seconds(x, element, m, s);
    return true;
}
