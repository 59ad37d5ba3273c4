/* What one move costs: bytes, seconds. Read pl_move_price(); blocks.c has what is sent. */
#include "reshard/move.h"

#include "reshard/blocks.h"
#include "reshard/halo.h"

#include <math.h>

static const double default_latency = 5e-6, default_per_byte = 1 / 10e9; /* seconds              */
static const double default_copy_start = 0.2e-6,
                    default_copy_per_byte = 1 / 20e9; /* of a copy of memory  */
static const double default_host_per_byte = 1 / 10e9; /* ... to or from the host's            */

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

/* -- price ------------------------------------------------------------------------------------- */

int64_t pl_move_volume(pl_collective k, int n, int64_t block, int64_t element_bytes)
{
    switch (k) {
    case PL_ALL_GATHER:
    case PL_REDUCE_SCATTER:
    case PL_ALL_TO_ALL: return (n - 1) * block * element_bytes;
    case PL_PERMUTE:
    case PL_HALO:
    case PL_TO_STAGE:
    case PL_TO_HOST:
    case PL_FROM_HOST: return block * element_bytes;
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

static double host_seconds(const pl_mesh *m, int64_t bytes)
{
    const double per_byte = m->host_per_byte > 0 ? m->host_per_byte : default_host_per_byte;
    return (m->copy_start > 0 ? m->copy_start : default_copy_start) + (double)bytes * per_byte;
}

#define WORST(field, usual) worst(m, axes, offsetof(pl_mesh_axis, field), usual)

double pl_move_seconds(pl_collective k, const pl_mesh *m, unsigned axes, int64_t bytes)
{
    static const int rounds[PL_N_COLLECTIVES] = {
        [PL_ALL_GATHER] = 1, [PL_REDUCE_SCATTER] = 1, [PL_ALL_TO_ALL] = 1, [PL_ALL_REDUCE] = 2
    };
    if (pl_collective_is_host(k)) return host_seconds(m, bytes);
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

/* Is what a rank has of `mine` one run of elements that begins at `at`? */
static bool is_run(const pl_region *mine, const pl_region *other, int64_t at, int64_t block)
{
    pl_region both;
    pl_copy c;
    return pl_region_meet(mine, other, &both) && pl_region_copy(mine, &both, 1, &c) && !c.n &&
           c.bytes == block && c.from_at == at;
}

/* Are the blocks, in the order of the group, a member's part as it lies in memory? Where parts are
 * even, a block begins at a sum of distances, one for each axis. Along an axis blocks only rise and
 * do not overlap: if its first and its last are in place, so are those between. */
static bool in_order(const pl_placement *part, const pl_placement *others, unsigned axes,
                     int64_t block, const pl_mesh *m, const pl_shape *s)
{
    if (begin_alike(part, others, m, s)) return false;
    const pl_region mine = pl_region_of(part, m, s, 0);
    if (pl_move_members(m, axes) * block != pl_region_count(&mine)) return false;
    for (int a = m->n - 1, step = 1; a >= 0; a--) {
        if (!(axes >> a & 1)) continue;
        const int last = (m->axis[a].size - 1) * step;
        for (int i = last; i > 0; i = i > step ? step : 0) {
            const pl_region x = pl_region_of(others, m, s, pl_move_member(m, 0, axes, i));
            if (!is_run(&mine, &x, i * block, block)) return false;
        }
        step += last;
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

/* All of a part. */
static bool price_host(pl_move *x, int64_t element, const pl_mesh *m, const pl_shape *s)
{
    x->block = pl_placement_room(&x->from, m, s);
    x->bytes = pl_move_volume(x->kind, 1, x->block, element);
    x->seconds = pl_move_seconds(x->kind, m, 0, x->bytes);
    return true;
}

double pl_move_least(const pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s)
{
    if (x->kind != PL_ALL_TO_ALL) return 0;
    const pl_kept rank = pl_blocks_kept(x, m, s);
    if (rank.keeps < 0) return INFINITY;
    const bool all = rank.keeps == rank.has && rank.keeps == rank.gets;
    if (!rank.keeps || all) return 0; /* each may give all it has to one */
    const int n = pl_move_members(m, x->axes);
    const int64_t block = rank.keeps > rank.gets / n ? rank.keeps : rank.gets / n;
    return pl_move_seconds(x->kind, m, x->axes,
                           pl_move_volume(x->kind, n, block, pl_type_bytes(type)));
}

bool pl_move_price_again(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s,
                         pl_blocks_memo *memo)
{
    if (x->kind == PL_HALO) return price_halo(x, pl_type_bytes(type), m, s);
    if (pl_collective_is_host(x->kind)) return price_host(x, pl_type_bytes(type), m, s);
    bool even = pl_placement_even(&x->from, m, s) && pl_placement_even(&x->to, m, s);
    const pl_blocks b = even ? pl_blocks_even(x, m, s) : pl_blocks_uneven(x, m, s, memo);
    int64_t element = pl_type_bytes(type);
    if (b.most < 0 || (x->kind == PL_ALL_TO_ALL && b.lacks)) return false;
    if (x->kind == PL_ALL_TO_ALL && b.whole) x->kind = PL_PERMUTE;
    x->block = b.most;
    x->bytes = pl_move_volume(x->kind, pl_move_members(m, x->axes), x->block, element);
    x->seconds =
        pl_move_seconds(x->kind, m, x->axes, x->bytes) + memory_seconds(x, even, element, m, s);
    return true;
}

bool pl_move_price(pl_move *x, pl_type type, const pl_mesh *m, const pl_shape *s)
{
    return pl_move_price_again(x, type, m, s, NULL);
}
