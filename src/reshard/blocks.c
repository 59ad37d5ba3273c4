/* What the blocks of a move are like: how many elements the largest has, and whether a device gives
 * all it has to one. Read pl_blocks_uneven(): dimension by dimension (find_extent). */
#include "reshard/blocks.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

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

/* What blocks are like along one dimension. */
typedef struct extent {
    int64_t most;      /* elements; -1: some are no products of ranges             */
    bool whole;        /* as of blocks                                             */
    int64_t found, of; /* of the receiver that finds the least share of its part   */
} extent;

/* A move along one dimension: all that concerns another one is left out. */
typedef struct line {
    pl_placement from, to;
    unsigned senders, receivers; /* axes of the group that split it before, and afterwards        */
    unsigned both;               /* and others                                                    */
    const pl_mesh *mesh;
    pl_shape shape;
} line;

static pl_placement keep_dimension(const pl_placement *p, int d)
{
    pl_placement one = { 0 };
    for (int i = 0; i < p->n; i++)
        if (p->split[i].dim == d) {
            one.split[one.n] = p->split[i];
            one.split[one.n++].dim = 0;
        }
    return one;
}

static line line_of(const pl_move *x, int d, const pl_mesh *m, const pl_shape *s)
{
    line t = { keep_dimension(&x->from, d), keep_dimension(&x->to, d), .mesh = m };
    t.shape = (pl_shape){ .rank = 1, .dim = { s->dim[d] } };
    t.senders = pl_placement_axes(&t.from), t.receivers = pl_placement_axes(&t.to);
    t.both = (t.senders | t.receivers) & ~x->axes & pl_placement_differ(&t.from, &t.to);
    t.senders &= x->axes, t.receivers &= x->axes;
    return t;
}

enum { MOST_DIGITS = 6 };

/* What a rank has of the dimension: a range of each digit. Where `cut`, the digits are those that
 * all parts of both placements have; else they are too many, or the part is no product. */
typedef struct held {
    const int *coord; /* of the rank */
    bool cut;
    int n;
    int64_t count; /* elements */
    struct range {
        int64_t lo, n, size;
    } digit[MOST_DIGITS];
} held;

static void see_part(const line *t, const pl_placement *p, const pl_region *other,
                     const int coord[], held *x)
{
    pl_region r = pl_region_at(p, t->mesh, &t->shape, coord);
    x->coord = coord;
    x->count = pl_region_count(&r);
    x->cut = x->count && pl_region_cut(&r, other) && r.n <= MOST_DIGITS;
    x->n = x->cut ? r.n : 0;
    for (int i = 0; i < x->n; i++)
        x->digit[i] = (struct range){ r.digit[i].lo, r.digit[i].n, r.digit[i].size };
}

/* Elements that both have, -1 when they are no product. */
static int64_t count_common(const line *t, const held *from, const held *to)
{
    int64_t n = 1;
    if (!from->cut || !to->cut) {
        const pl_region a = pl_region_at(&t->from, t->mesh, &t->shape, from->coord),
                        b = pl_region_at(&t->to, t->mesh, &t->shape, to->coord);
        pl_region both;
        return pl_region_meet(&a, &b, &both) ? pl_region_count(&both) : -1;
    }
    for (int i = 0; i < from->n; i++) {
        const struct range *a = &from->digit[i], *b = &to->digit[i];
        const int64_t lo = a->lo > b->lo ? a->lo : b->lo;
        const int64_t hi = a->lo + a->n < b->lo + b->n ? a->lo + a->n : b->lo + b->n;
        if (hi <= lo) return 0;
        n *= hi - lo;
    }
    return n;
}

static void see_block(const line *t, const held *from, const held *to, extent *e, int64_t *found)
{
    const int64_t n = count_common(t, from, to);
    *found += n;
    if (n < 0)
        e->most = -1;
    else if (n > e->most)
        e->most = n;
    e->whole &= !n || (n == from->count && n == to->count);
}

/* Devices whose parts are to be looked at, by their places on the axes. */
typedef struct ranks {
    int n;
    int (*at)[PL_MAX_AXES]; /* [n] */
} ranks;

/* [axes] How many parts of each axis that splits the dimension have something, at most: the first
 * ones do. */
static void count_parts(const pl_placement *p, const pl_mesh *m, const pl_shape *s,
                        int64_t parts[PL_MAX_AXES])
{
    for (int i = 0, end; i < p->n; i = end) {
        int64_t left = pl_split_values(&p->split[i], s->dim[0]);
        end = pl_placement_end(p, i);
        for (int k = i; k < end; k++) {
            const int axis = p->split[k].axis;
            const int64_t part = (left + m->axis[axis].size - 1) / m->axis[axis].size;
            const int64_t n = part ? (left + part - 1) / part : 0;
            if (n > parts[axis]) parts[axis] = n;
            left = part;
        }
    }
}

/* The ranks that differ from rank 0 on some axes, but for those behind the first empty part. */
static ranks find_ranks(const line *t, unsigned axes, pl_arena *tmp)
{
    int64_t parts[PL_MAX_AXES] = { 0 };
    int size[PL_MAX_AXES], n = 1;
    count_parts(&t->from, t->mesh, &t->shape, parts);
    count_parts(&t->to, t->mesh, &t->shape, parts);
    for (int a = 0; a < t->mesh->n; a++) {
        const int all = axes >> a & 1 ? t->mesh->axis[a].size : 1;
        size[a] = parts[a] + 1 < all ? (int)parts[a] + 1 : all;
        n *= size[a];
    }
    ranks x = { n, pl_arena_get(tmp, (size_t)n, sizeof *x.at) };
    int coord[PL_MAX_AXES] = { 0 };
    for (int i = 0; i < n; i++) {
        memcpy(x.at[i], coord, sizeof coord);
        for (int a = t->mesh->n - 1; a >= 0 && ++coord[a] == size[a]; a--) coord[a] = 0;
    }
    return x;
}

typedef struct held_parts {
    int n;
    held *at;
} held_parts;

static held_parts new_parts(ranks of, pl_arena *tmp)
{
    return (held_parts){ 0, pl_arena_get(tmp, (size_t)of.n + 1, sizeof(held)) };
}

/* Those that are not empty, of a group whose ranks are at `base` on the other axes. */
static void see_parts(const pl_placement *p, const pl_placement *other, const line *t, ranks of,
                      const int base[], held_parts *x)
{
    const pl_region like = pl_region_of(other, t->mesh, &t->shape, 0);
    x->n = 0;
    for (int i = 0; i < of.n; i++) {
        for (int a = 0; a < t->mesh->n; a++)
            if (t->both >> a & 1) of.at[i][a] = base[a];
        see_part(t, p, &like, of.at[i], &x->at[x->n]);
        x->n += x->at[x->n].count > 0;
    }
}

/* Parts by where their range of one digit begins: only those that overlap there have a block. */
typedef struct sorted {
    int digit;      /* -1: their digits are not the same, each may meet each */
    int64_t widest; /* range of that digit                                   */
    int n;
    held *part; /* [n] ascending                                         */
} sorted;

static bool have_same_digits(int n, const held part[])
{
    for (int i = 0; i < n; i++)
        if (!part[i].cut) return false;
    return true;
}

static int64_t widest_range(int n, const held part[], int digit)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        if (part[i].digit[digit].n > most) most = part[i].digit[digit].n;
    return most;
}

static int by_low(const void *a, const void *b, void *digit)
{
    const int64_t x = ((const held *)a)->digit[*(int *)digit].lo,
                  y = ((const held *)b)->digit[*(int *)digit].lo;
    return (x > y) - (x < y);
}

/* Ranks that come in order mostly have their parts in order. */
static void sort_by_low(int n, held part[], int digit)
{
    int k = 1;
    while (k < n && by_low(&part[k - 1], &part[k], &digit) <= 0) k++;
    if (k < n) qsort_r(part, (size_t)n, sizeof *part, by_low, &digit);
}

/* The digit of which the parts of both sides have the smallest share. */
static sorted sort_parts(int n, held from[], int n_to, const held to[])
{
    sorted x = { .digit = -1, .n = n, .part = from };
    double least = INFINITY;
    if (!n || !n_to || !have_same_digits(n, from) || !have_same_digits(n_to, to)) return x;
    for (int d = 0; d < from->n; d++) {
        const int64_t widest = widest_range(n, from, d);
        const double share =
            (double)(widest + widest_range(n_to, to, d)) / (double)from->digit[d].size;
        if (share < least) least = share, x.digit = d, x.widest = widest;
    }
    if (x.digit >= 0) sort_by_low(n, from, x.digit);
    return x;
}

/* The first part that may meet this one. */
static int first_near(const sorted *x, const held *to)
{
    int low = 0, high = x->digit < 0 ? 0 : x->n;
    while (low < high) {
        const int mid = (low + high) / 2;
        const bool before = x->part[mid].digit[x->digit].lo + x->widest <= to->digit[x->digit].lo;
        *(before ? &low : &high) = mid + before;
    }
    return low;
}

static bool is_past(const sorted *x, int k, const held *to)
{
    if (x->digit < 0) return false;
    const struct range *d = &to->digit[x->digit];
    return x->part[k].digit[x->digit].lo >= d->lo + d->n;
}

/* The blocks of a group. */
static void see_group(const line *t, const held_parts *from, const held_parts *to, extent *e)
{
    const sorted x = sort_parts(from->n, from->at, to->n, to->at);
    for (int i = 0; i < to->n && e->most >= 0; i++) {
        const held *y = &to->at[i];
        int64_t found = 0;
        for (int k = first_near(&x, y); k < x.n && e->most >= 0 && !is_past(&x, k, y); k++)
            see_block(t, &x.part[k], y, e, &found);
        if ((double)found * (double)e->of < (double)e->found * (double)y->count)
            e->found = found, e->of = y->count;
    }
}

static extent find_extent(const line *t)
{
    extent e = { .whole = true, .found = INT32_MAX, .of = 1 };
    pl_arena *tmp = pl_arena_new("groups");
    const ranks senders = find_ranks(t, t->senders, tmp),
                receivers = find_ranks(t, t->receivers, tmp), groups = find_ranks(t, t->both, tmp);
    held_parts from = new_parts(senders, tmp), to = new_parts(receivers, tmp);
    for (int c = 0; c < groups.n && e.most >= 0; c++) {
        see_parts(&t->from, &t->to, t, senders, groups.at[c], &from);
        see_parts(&t->to, &t->from, t, receivers, groups.at[c], &to);
        see_group(t, &from, &to, &e);
    }
    pl_arena_free(tmp);
    return e;
}

/* Are splits [i, end) of `coarse`, of one digit, those that `fine` begins with from k on? Digits of
 * other units that end alike are cut alike where the axes divide both. */
static bool begins_as(const pl_placement *fine, int k, const pl_placement *coarse, int i, int end,
                      const pl_mesh *m, const pl_shape *s)
{
    const int64_t a = pl_split_values(&coarse->split[i], s->dim[0]),
                  b = pl_split_values(&fine->split[k], s->dim[0]);
    const int stop = pl_placement_end(fine, k);
    int64_t parts = 1;
    for (; i < end; i++, k++) {
        if (k == stop || fine->split[k].axis != coarse->split[i].axis) return false;
        parts *= m->axis[coarse->split[i].axis].size;
    }
    return a == b || (a % parts == 0 && b % parts == 0);
}

/* Does `fine` split the one dimension as `coarse` does, and each part perhaps further? */
static bool is_finer(const pl_placement *fine, const pl_placement *coarse, const pl_mesh *m,
                     const pl_shape *s)
{
    for (int k = 0; k < fine->n; k++)
        if (fine->split[k].stride) return false;
    for (int i = 0, end; i < coarse->n; i = end) {
        const pl_split *x = &coarse->split[i];
        int k = 0;
        end = pl_placement_end(coarse, i);
        if (x->stride) return false;
        while (k < fine->n &&
               pl_split_top(&fine->split[k], s->dim[0]) != pl_split_top(x, s->dim[0]))
            k = pl_placement_end(fine, k);
        if (k == fine->n || !begins_as(fine, k, coarse, i, end, m, s)) return false;
    }
    return true;
}

/* What rank 0 alone says of a dimension where one placement splits what the other one does further:
 * a block is what the finer one has, and its are the largest. */
static bool see_nested(const line *t, extent *e)
{
    const int64_t from = pl_placement_local(&t->from, t->mesh, &t->shape, 0).dim[0],
                  to = pl_placement_local(&t->to, t->mesh, &t->shape, 0).dim[0];
    if (!is_finer(&t->from, &t->to, t->mesh, &t->shape) &&
        !is_finer(&t->to, &t->from, t->mesh, &t->shape))
        return false;
    *e = (extent){ from < to ? from : to, from == to, 1, 1 };
    return true;
}

/* -- what was found before --------------------------------------------------------------------- */

typedef struct known_extent {
    line of;
    extent is;
} known_extent;

struct pl_blocks_memo {
    pl_arena *arena;
    pthread_mutex_t *lock;
    pl_map map;
    int n, cap;
    known_extent *at;
};

pl_blocks_memo *pl_blocks_memo_new(pl_arena *arena, pthread_mutex_t *lock)
{
    pl_blocks_memo *memo = PL_NEW(arena, pl_blocks_memo);
    *memo = (pl_blocks_memo){ .arena = arena, .lock = lock };
    return memo;
}

static void lock(const pl_blocks_memo *memo)
{
    if (memo->lock) pthread_mutex_lock(memo->lock);
}

static void unlock(const pl_blocks_memo *memo)
{
    if (memo->lock) pthread_mutex_unlock(memo->lock);
}

static bool is_line_same(const line *a, const line *b)
{
    return a->shape.dim[0] == b->shape.dim[0] && a->senders == b->senders &&
           a->receivers == b->receivers && a->both == b->both &&
           pl_placement_same(&a->from, &b->from) && pl_placement_same(&a->to, &b->to);
}

static extent find_again(const line *t, pl_blocks_memo *memo)
{
    if (!memo) return find_extent(t);
    uint64_t hash = pl_hash_mix(pl_placement_hash(&t->from), pl_placement_hash(&t->to));
    hash = pl_hash_mix(hash, (uint64_t)t->shape.dim[0] << 16 | t->senders << 8 | t->receivers);
    lock(memo);
    const known_extent *before = NULL;
    PL_MAP_EACH (&memo->map, hash, x)
        if (is_line_same(&memo->at[x.value].of, t)) before = &memo->at[x.value];
    const extent is = before ? before->is : (extent){ 0 };
    unlock(memo);
    if (before) return is;
    const known_extent known = { *t, find_extent(t) };
    lock(memo);
    pl_map_put(&memo->map, hash, memo->n, memo->arena);
    PL_PUSH(memo->arena, memo, known);
    unlock(memo);
    return known.is;
}

/* -- all --------------------------------------------------------------------------------------- */

/* Each axis splits one dimension before a move and one after it, and who sends is not who receives:
 * so what the blocks are like follows from what they are like along each dimension, and nothing is
 * looked at device by device that can be looked at axis by axis. */
pl_blocks pl_blocks_uneven(const pl_move *x, const pl_mesh *m, const pl_shape *s,
                           pl_blocks_memo *memo)
{
    const unsigned copies = x->axes & ~pl_placement_axes(&x->from);
    pl_blocks b = { .most = 1, .whole = true };
    double found = pl_move_members(m, copies & pl_placement_differ(&x->from, &x->to)), of = 1;
    for (int d = 0; d < s->rank; d++) {
        const line t = line_of(x, d, m, s);
        extent e;
        if (!see_nested(&t, &e)) e = find_again(&t, memo);
        if (e.most < 0) return (pl_blocks){ .most = -1 };
        b.most *= e.most;
        b.whole &= e.whole;
        found *= (double)e.found, of *= (double)e.of;
    }
    b.whole |= !b.most;
    b.lacks = found < of;
    return b;
}

int64_t pl_move_block(const pl_placement *from, const pl_placement *to, unsigned axes,
                      const pl_mesh *m, const pl_shape *s)
{
    if (pl_placement_even(from, m, s) && pl_placement_even(to, m, s))
        return even_block(from, to, m, s);
    pl_move x = { .kind = PL_ALL_TO_ALL, .axes = axes, .from = *from, .to = *to };
    return pl_blocks_uneven(&x, m, s, NULL).most;
}

/* Elements of a device's part where all have equally many. */
static int64_t even_part(const pl_placement *p, const pl_mesh *m, const pl_shape *s)
{
    return pl_shape_count(s) / pl_move_members(m, pl_placement_axes(p));
}

/* Where parts are even, a device has all of a block before an axis splits it, or afterwards if it
 * gathers. */
pl_blocks pl_blocks_even(const pl_move *x, const pl_mesh *m, const pl_shape *s)
{
    int64_t from = even_part(&x->from, m, s), to = even_part(&x->to, m, s);
    if (x->kind == PL_ALL_GATHER || x->kind == PL_ALL_REDUCE) return (pl_blocks){ .most = from };
    if (x->kind != PL_ALL_TO_ALL) return (pl_blocks){ .most = to };
    int axis = __builtin_ctz(x->axes);
    if (x->axes == 1u << axis && /* dimensions are cut by turns */
        pl_placement_dim(&x->from, axis) != pl_placement_dim(&x->to, axis))
        return (pl_blocks){ .most = from / m->axis[axis].size };
    int64_t n = even_block(&x->from, &x->to, m, s);
    return (pl_blocks){ .most = n, .whole = n == from && n == to };
}

pl_kept pl_blocks_kept(const pl_move *x, const pl_mesh *m, const pl_shape *s)
{
    const pl_region from = pl_region_of(&x->from, m, s, 0), to = pl_region_of(&x->to, m, s, 0);
    pl_region both;
    return (pl_kept){ .has = pl_region_count(&from),
                      .gets = pl_region_count(&to),
                      .keeps = pl_region_meet(&from, &to, &both) ? pl_region_count(&both) : -1 };
}
