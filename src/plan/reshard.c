#include "plan/reshard.h"
#include "plan/halo.h"
#include "plan/move.h"

#include <string.h>

enum { MOST_STATES = 512, SLOTS = 2 * MOST_STATES, MOST_DIGITS = 32, MEMO_SLOTS = 1024 };

/* A placement on the way, and the last move of the cheapest way to it that is known. */
typedef struct state {
    pl_placement where;
    uint64_t hash;
    int64_t count;         /* elements of a device's part                                        */
    int source, before, n; /* which source it comes from, the state before it, moves so far      */
    bool done;
    double seconds, rest; /* so far; no way from here to the target is cheaper than that        */
    pl_move_kind kind;    /* of the move from `before` to here                                  */
    unsigned axes;
    int64_t block, bytes;
    double move_seconds;
} state;

typedef struct search {
    const pl_reshard *r;
    pl_type type;
    const pl_shape *shape;
    pl_placement to;
    unsigned free, dims; /* axes that may move, dimensions that they may split                   */
    unsigned to_dims;    /* those that the target splits                                         */
    bool even, strided;  /* parts on the way are; an end splits a digit                          */
    bool combine;        /* something is pending that shall not                                  */
    bool helped;         /* by axes that split nothing at the ends                               */
    int64_t most, least; /* elements of a part on the way: allowed, possible                     */
    int64_t end;         /* elements of a part of the target                                     */
    double fastest;      /* per_byte                                                             */
    int n_digits, n, cap;
    pl_split digit[MOST_DIGITS]; /* that they may split; axis: the only one that may, or -1      */
    state *at;
    int16_t slot[SLOTS]; /* 1 + state by hash, 0: none                                         */
    pl_arena *arena;
} search;

/* -- states ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_placement(uint64_t h, const pl_placement *p)
{
    h = mix(h, (uint64_t)p->n << 16 | (uint64_t)p->pending << 8 | p->monoid);
    for (int i = 0; i < p->n; i++) {
        const pl_split *x = &p->split[i];
        h = mix(h, (uint64_t)x->dim << 8 | (uint64_t)x->axis);
        if (x->size) h = mix(mix(h, (uint64_t)x->size), (uint64_t)x->unit);
        if (x->stride)
            h = mix(mix(h, (uint64_t)x->stride), (uint64_t)x->reach << 32 | (uint32_t)x->pad);
    }
    return h;
}

/* No way from `where` to the target costs less. With q the least that a part can be on the way: an
 * axis of n devices that must leave a split for none takes a gather of n - 1 such parts; one that
 * is pending as much in a message of its own, or more in a common one; one that must leave a
 * dimension for another takes a message, maybe with others, that brings 1 - 1/n of a part. All
 * gathers together make a part of T elements from 1/N of it. */
static double least_seconds(const search *s, const pl_placement *where)
{
    const pl_mesh *m = s->r->mesh;
    double sum = 0, moved = 0, gathered = 0, rest = 1, element = (double)pl_type_bytes(s->type);
    for (int a = 0; a < m->n; a++) {
        int now = pl_placement_dim(where, a), then = pl_placement_dim(&s->to, a);
        int n = m->axis[a].size;
        double latency = pl_move_latency(m, 1u << a);
        double part = (double)s->least * element * pl_move_per_byte(m, 1u << a);
        if (where->pending & ~s->to.pending & 1u << a) {
            sum += (n - 1) * (latency + part);
        } else if (now >= 0 && then < 0) {
            sum += (n - 1) * latency;
            gathered += (n - 1) * part;
            rest /= n;
        } else if (now >= 0 && now != then && latency + part * (1 - 1.0 / n) > moved) {
            moved = latency + part * (1 - 1.0 / n);
        }
    }
    double all = (double)s->end * element * (1 - rest) * s->fastest;
    return sum + moved + (all > gathered ? all : gathered);
}

static state *find_state(search *s, const pl_placement *where)
{
    uint64_t hash = hash_placement(1, where);
    int i = (int)(hash % SLOTS);
    for (; s->slot[i]; i = (i + 1) % SLOTS) {
        state *x = &s->at[s->slot[i] - 1];
        if (x->hash == hash && pl_placement_same(&x->where, where)) return x;
    }
    if (s->n == MOST_STATES) return NULL;
    pl_shape local = pl_placement_local(where, s->r->mesh, s->shape, 0);
    if (s->even && !pl_placement_even(where, s->r->mesh, s->shape)) return NULL;
    state x = { .where = *where, .hash = hash, .count = pl_shape_count(&local), .seconds = 1e300 };
    x.rest = least_seconds(s, where);
    PL_PUSH(s->arena, s, x);
    s->slot[i] = (int16_t)s->n;
    return &s->at[s->n - 1];
}

/* -- moves ------------------------------------------------------------------------------------- */

static bool is_strided(const pl_split *x)
{
    return x->size || x->stride;
}

static bool has_strided(const pl_placement *p)
{
    for (int i = 0; i < p->n; i++)
        if (is_strided(&p->split[i])) return true;
    return false;
}

/* Without strided parts on the way, one that is there only becomes whole, or stays as it is; and
 * one that is wanted is only cut from what is whole. */
static bool keeps_plain(const search *s, const pl_placement *from, const pl_move *x)
{
    for (int i = 0; i < x->to.n; i++) {
        const pl_split *y = &x->to.split[i];
        if (!is_strided(y)) continue;
        const pl_placement *as = x->kind == PL_SLICE && x->axes >> y->axis & 1 ? &s->to : from;
        int k = pl_placement_find(as, y->axis);
        if (k < 0 || as->split[k].dim != y->dim || as->split[k].size != y->size ||
            as->split[k].unit != y->unit)
            return false;
    }
    for (int i = 0; i < from->n; i++)
        if (is_strided(&from->split[i]) && x->axes >> from->split[i].axis & 1)
            return x->kind == PL_GATHER;
    return true;
}

/* No move of this kind from a part of `from` elements to one of `to` costs less. */
static double least_move(const search *s, const pl_move *x, int64_t from, int64_t to)
{
    int me, n = pl_move_group(s->r->mesh, 0, x->axes, &me);
    int64_t block = 0;
    pl_move_kind kind = x->kind;
    if (kind == PL_GATHER || kind == PL_REDUCE) block = from;
    if (kind == PL_SCATTER) block = to;
    if (kind == PL_EXCHANGE) kind = PL_PERMUTE;
    int64_t bytes = pl_move_volume(kind, n, block, pl_type_bytes(s->type));
    return pl_move_seconds(kind, s->r->mesh, x->axes, bytes);
}

/* One more way: by a move of this kind from state `from` to placement x->to. */
static void add_move(search *s, int from, pl_move *x)
{
    state before = s->at[from];
    if (pl_placement_same(&before.where, &x->to)) return;
    if (s->r->no_strided && !keeps_plain(s, &before.where, x)) return;
    state *after = find_state(s, &x->to);
    if (!after || after->done || after->count > s->most) return;
    double least = before.seconds + least_move(s, x, before.count, after->count);
    if (least >= after->seconds || least + after->rest >= s->at[0].seconds) return;
    x->from = before.where;
    if (!pl_move_price(x, s->type, s->r->mesh, s->shape)) return;
    if (before.seconds + x->seconds >= after->seconds) return;
    after->seconds = before.seconds + x->seconds;
    after->before = from, after->source = before.source, after->n = before.n + 1;
    after->kind = x->kind, after->axes = x->axes;
    after->block = x->block, after->bytes = x->bytes, after->move_seconds = x->seconds;
}

/* Would a move of this kind cost more than a way that is known, wherever the axis goes? What is
 * left to pay falls at most by what the axis itself was to pay. */
static bool is_hopeless(const search *s, int from, pl_move_kind kind, int axis)
{
    const state *x = &s->at[from];
    int n = s->r->mesh->axis[axis].size;
    double round = pl_move_latency(s->r->mesh, 1u << axis);
    double least = x->seconds + x->rest;
    if (kind != PL_EXCHANGE && pl_placement_find(&s->to, axis) < 0) least += (n - 1) * round;
    return kind != PL_EXCHANGE && least >= s->at[0].seconds;
}

/* `base` holds what the group of `axis` has together; each slice of it that the axis can make. */
static void add_slices(search *s, int from, pl_move_kind kind, int axis, const pl_placement *base)
{
    if (is_hopeless(s, from, kind, axis)) return;
    for (int i = 0; i < s->n_digits; i++) {
        pl_split x = s->digit[i];
        pl_move m = { .kind = kind, .axes = 1u << axis, .to = *base };
        if (x.axis >= 0 && x.axis != axis) continue;
        if (kind == PL_EXCHANGE && !s->strided && !s->to_dims) continue; /* all are gathered */
        x.axis = (int8_t)axis;
        if (pl_placement_slice(&m.to, s->r->mesh, s->shape, x)) add_move(s, from, &m);
    }
}

static pl_placement without_pending(const pl_placement *p, unsigned axes)
{
    pl_placement x = *p;
    x.pending &= (uint8_t)~axes;
    if (!x.pending) x.monoid = PL_SUM;
    return x;
}

/* The moves of one axis alone. */
static void add_axis_moves(search *s, int from, int axis)
{
    pl_placement where = s->at[from].where, base = where;
    unsigned bit = 1u << axis;
    if (where.pending & bit) {
        if (s->to.pending & bit) return;
        base = without_pending(&where, bit);
        add_move(s, from, &(pl_move){ .kind = PL_REDUCE, .axes = bit, .to = base });
        add_slices(s, from, PL_SCATTER, axis, &base);
    } else if (pl_placement_find(&where, axis) >= 0) {
        if (!pl_placement_gather(&base, s->r->mesh, s->shape, axis)) return;
        add_move(s, from, &(pl_move){ .kind = PL_GATHER, .axes = bit, .to = base });
        add_slices(s, from, PL_EXCHANGE, axis, &base);
    } else if (s->to.pending & bit) {
        bool sum = s->to.monoid == PL_SUM && (!where.pending || where.monoid == PL_SUM);
        base.pending |= (uint8_t)bit;
        if (s->r->mask && sum)
            add_move(s, from, &(pl_move){ .kind = PL_MASK, .axes = bit, .to = base });
    } else {
        add_slices(s, from, PL_SLICE, axis, &base);
    }
}

/* `to` splits otherwise over `axes` what their group has together: one all-to-all of all of
 * them. */
static void add_exchange(search *s, int from, unsigned axes, const pl_placement *to)
{
    pl_placement x = s->at[from].where, y = *to;
    if (x.pending != y.pending) return;
    for (int a = 0; a < s->r->mesh->n; a++) {
        if (!(axes >> a & 1)) continue;
        if (pl_placement_find(&x, a) < 0 || pl_placement_find(&y, a) < 0) return;
        if (!pl_placement_gather(&x, s->r->mesh, s->shape, a)) return;
        if (!pl_placement_gather(&y, s->r->mesh, s->shape, a)) return;
    }
    if (pl_placement_same(&x, &y))
        add_move(s, from, &(pl_move){ .kind = PL_EXCHANGE, .axes = axes, .to = *to });
}

/* The axis of split i goes to split j, that of j to k, that of k to i; k = i: two change places. */
static void add_turn(search *s, int from, int i, int j, int k)
{
    const pl_placement where = s->at[from].where;
    const pl_split *x = where.split;
    pl_placement to = where;
    unsigned axes = 1u << x[i].axis | 1u << x[j].axis | 1u << x[k].axis;
    if (axes & ~s->free) return;
    to.split[j].axis = x[i].axis, to.split[k].axis = x[j].axis;
    if (k != i) to.split[i].axis = x[k].axis;
    to = pl_placement_normal(&to, s->r->mesh, s->shape);
    add_exchange(s, from, axes, &to);
}

/* Is an axis split in both in the same way, as major a one of its digit? */
static bool stands_alike(const pl_placement *x, int i, const pl_placement *y, int k)
{
    const pl_split *a = &x->split[i], *b = &y->split[k];
    if (a->dim != b->dim || a->size != b->size || a->unit != b->unit) return false;
    for (int n = 1;; n++) {
        bool up = i >= n && pl_placement_end(x, i - n) > i;
        if (up != (k >= n && pl_placement_end(y, k - n) > k)) return false;
        if (!up) return true;
    }
}

/* The axes that the target splits otherwise go there all at once; others stay. */
static void add_arrival(search *s, int from, unsigned axes)
{
    pl_placement to = s->at[from].where;
    for (int i = 0; i < s->to.n; i++)
        if (axes >> s->to.split[i].axis & 1 &&
            !pl_placement_gather(&to, s->r->mesh, s->shape, s->to.split[i].axis))
            return;
    for (int i = 0; i < s->to.n; i++)
        if (axes >> s->to.split[i].axis & 1 &&
            !pl_placement_slice(&to, s->r->mesh, s->shape, s->to.split[i]))
            return;
    add_exchange(s, from, axes, &to);
}

/* Two or three axes change places, and arrivals of several. */
static void add_joint_exchanges(search *s, int from)
{
    const pl_placement where = s->at[from].where;
    unsigned differ = 0;
    for (int i = 0; i < where.n; i++) {
        int end = pl_placement_find(&s->to, where.split[i].axis);
        if (end >= 0 && !stands_alike(&where, i, &s->to, end)) differ |= 1u << where.split[i].axis;
        for (int j = i + 1; j < where.n; j++) {
            add_turn(s, from, i, j, i);
            for (int k = j + 1; k < where.n; k++) {
                add_turn(s, from, i, j, k);
                add_turn(s, from, i, k, j);
            }
        }
    }
    differ &= s->free;
    for (int a = 0; a < s->r->mesh->n; a++) /* all but one of three or more */
        if (differ >> a & 1 && __builtin_popcount(differ) > 2)
            add_arrival(s, from, differ ^ 1u << a);
    if (differ & (differ - 1)) add_arrival(s, from, differ);
}

static void add_moves(search *s, int from)
{
    pl_placement where = s->at[from].where;
    unsigned pending = where.pending & ~(unsigned)s->to.pending;
    if (s->at[from].n == PL_MAX_MOVES) return;
    for (int a = 0; a < s->r->mesh->n; a++)
        if (s->free >> a & 1) add_axis_moves(s, from, a);
    add_joint_exchanges(s, from);
    if (pending & (pending - 1)) {
        pl_placement to = without_pending(&where, pending);
        add_move(s, from, &(pl_move){ .kind = PL_REDUCE, .axes = pending, .to = to });
    }
}

/* -- the search -------------------------------------------------------------------------------- */

static void add_digit(search *s, pl_split x)
{
    for (int i = 0; i < s->n_digits; i++) {
        const pl_split *y = &s->digit[i];
        if (y->dim == x.dim && y->size == x.size && y->unit == x.unit && y->axis == x.axis) return;
    }
    if (s->n_digits < MOST_DIGITS) s->digit[s->n_digits++] = x;
}

/* What lies above and below a strided digit of a dimension. */
static void add_gaps(search *s, pl_split x)
{
    int64_t top = x.size * x.unit, above = s->shape->dim[x.dim] / top, unit = x.unit;
    x.size = above, x.unit = top;
    if (above > 1) add_digit(s, x);
    x.size = unit, x.unit = 1;
    if (unit > 1) add_digit(s, x);
}

/* The digits of the free axes of an end of the way. Of the target also what each of several axes
 * has of their digit: then they can come in any order. */
static void add_digits(search *s, const pl_placement *p, bool is_target)
{
    for (int i = 0, end; i < p->n; i = end) {
        pl_split x = p->split[i], all = x;
        int64_t size = x.size ? x.size : s->shape->dim[x.dim], unit = x.size ? x.unit : 1;
        end = pl_placement_end(p, i);
        if (!(s->free >> x.axis & 1)) continue; /* nor are others of the dimension */
        all.axis = -1;
        add_digit(s, all);
        if (x.size) add_gaps(s, all);
        s->dims |= 1u << x.dim;
        if (is_target) s->to_dims |= 1u << x.dim;
        for (int k = i; k < end && is_target && (end - i > 1 || s->strided); k++) {
            int64_t parts = s->r->mesh->axis[p->split[k].axis].size;
            if (size % parts || size == parts) break;
            size /= parts;
            x.axis = p->split[k].axis, x.size = parts, x.unit = size * unit;
            add_digit(s, x);
        }
    }
}

/* Whole dimensions of the ends; and where several axes move one more, to be split on the way alone:
 * the first that all axes divide, else the largest. */
static void add_dims(search *s)
{
    int64_t parts = 1;
    int best = -1;
    for (int a = 0; a < s->r->mesh->n; a++)
        if (s->free >> a & 1) parts *= s->r->mesh->axis[a].size;
    for (int d = s->shape->rank - 1; d >= 0; d--) {
        int64_t size = s->shape->dim[d], most = best < 0 ? 0 : s->shape->dim[best];
        if (s->dims >> d & 1) continue;
        if (size % parts == 0 || best < 0 || (most % parts && size > most)) best = d;
    }
    bool more = s->free & (s->free - 1) && (s->combine || s->helped || s->to_dims);
    if (best >= 0 && (more || s->strided)) s->dims |= 1u << best;
    for (int d = 0; d < s->shape->rank; d++)
        if (s->dims >> d & 1) add_digit(s, (pl_split){ .dim = (int8_t)d, .axis = -1 });
}

/* Axes that hold copies at both ends may help: what they slice is less to combine, or to move for
 * slower axes. */
static unsigned find_helpers(const search *s, unsigned used)
{
    const pl_mesh *m = s->r->mesh;
    unsigned axes = 0;
    double slowest = pl_move_per_byte(m, s->free);
    for (int a = 0; a < m->n; a++)
        if (s->combine || pl_move_per_byte(m, 1u << a) < slowest) axes |= 1u << a;
    return axes & ~used & ((1u << m->n) - 1);
}

/* Which axes move, and what bounds there are. */
static void find_axes(search *s, int n, const pl_placement from[])
{
    const pl_mesh *m = s->r->mesh;
    unsigned used = s->to.pending | pl_placement_axes(&s->to);
    int64_t parts = 1;
    s->even = pl_placement_even(&s->to, m, s->shape);
    s->strided = has_strided(&s->to);
    for (int i = 0; i < n; i++) {
        used |= from[i].pending | pl_placement_axes(&from[i]);
        s->free |= pl_placement_differ(&s->to, &from[i]);
        s->combine |= from[i].pending & ~s->to.pending;
        s->even &= pl_placement_even(&from[i], m, s->shape);
        s->strided |= has_strided(&from[i]);
    }
    unsigned helpers = find_helpers(s, used);
    s->helped = helpers;
    s->free |= helpers;
    s->fastest = pl_move_per_byte(m, 1);
    for (int a = 0; a < m->n; a++) {
        double x = pl_move_per_byte(m, 1u << a);
        if (x < s->fastest) s->fastest = x;
        if ((used | s->free) >> a & 1) parts *= m->axis[a].size;
        if (m->axis[a].size == 1) s->free &= ~(1u << a);
    }
    pl_shape end = pl_placement_local(&s->to, m, s->shape, 0);
    s->end = pl_shape_count(&end);
    s->least = pl_shape_count(s->shape) / parts;
}

static void start(search *s, int n, const pl_placement from[])
{
    find_axes(s, n, from);
    find_state(s, &s->to);
    s->most = s->r->most_bytes ? s->r->most_bytes / pl_type_bytes(s->type) : INT64_MAX;
    if (s->end > s->most) s->most = s->end;
    add_digits(s, &s->to, true);
    for (int i = 0; i < n; i++) {
        state *x = find_state(s, &from[i]);
        x->seconds = 0, x->source = i, x->before = -1;
        if (x->count > s->most) s->most = x->count;
        add_digits(s, &from[i], false);
    }
    add_dims(s);
}

/* A* with least_seconds; state 0 is the target. */
static bool reach_target(search *s)
{
    for (;;) {
        int best = -1;
        double least = 1e300;
        for (int i = 0; i < s->n; i++) {
            const state *x = &s->at[i];
            if (!x->done && x->seconds + x->rest < least) best = i, least = x->seconds + x->rest;
        }
        if (best <= 0) return best == 0;
        s->at[best].done = true;
        add_moves(s, best);
    }
}

static void trace_path(const search *s, pl_path *path, int *which)
{
    *path = (pl_path){ .n = s->at[0].n };
    *which = s->at[0].source;
    for (int i = 0, k = path->n; k > 0; i = s->at[i].before) {
        const state *x = &s->at[i];
        path->move[--k] = (pl_move){ x->kind,  x->axes,  s->at[x->before].where, x->where,
                                     x->block, x->bytes, x->move_seconds };
        path->bytes += x->bytes;
        path->seconds += x->move_seconds;
    }
}

/* Placements in normal form, none of the sources the target. */
static bool search_path(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                        const pl_placement from[], const pl_placement *to, int *which,
                        pl_path *path)
{
    bool window = pl_halo_is_end(to);
    for (int i = 0; i < n; i++) window |= pl_halo_is_end(&from[i]);
    if (window) return pl_halo_find(r, type, shape, n, from, to, which, path);
    search s = { .r = r, .type = type, .shape = shape, .to = *to };
    s.arena = pl_arena_new("placements on the way");
    start(&s, n, from);
    bool ok = reach_target(&s);
    if (ok) trace_path(&s, path, which);
    pl_arena_free(s.arena);
    return ok;
}

/* -- memory ------------------------------------------------------------------------------------ */

typedef struct entry {
    struct entry *next;
    pl_type type;
    pl_shape shape;
    int64_t most_bytes;
    bool no_strided, mask;
    int n, which, n_moves; /* which: -1, no way */
    pl_placement *from;    /* [n], then the target */
    pl_move *move;
    int64_t bytes;
    double seconds;
} entry;

struct pl_reshard_memo {
    pl_arena *arena;
    entry *slot[MEMO_SLOTS];
};

pl_reshard pl_reshard_new(const pl_mesh *m, pl_arena *arena)
{
    pl_reshard r = { .mesh = m, .memo = PL_NEW(arena, struct pl_reshard_memo) };
    r.memo->arena = arena;
    return r;
}

static uint64_t hash_entry(const entry *e)
{
    uint64_t h = mix((uint64_t)e->type, (uint64_t)e->most_bytes);
    for (int d = 0; d < e->shape.rank; d++) h = mix(h, (uint64_t)e->shape.dim[d]);
    for (int i = 0; i <= e->n; i++) h = hash_placement(h, &e->from[i]);
    return h;
}

static bool same_question(const entry *a, const entry *b)
{
    bool same = a->type == b->type && pl_shape_same(&a->shape, &b->shape) && a->n == b->n &&
                a->most_bytes == b->most_bytes && a->no_strided == b->no_strided &&
                a->mask == b->mask;
    for (int i = 0; same && i <= a->n; i++) same = pl_placement_same(&a->from[i], &b->from[i]);
    return same;
}

/* The entry, with its answer if it has been asked before; else a copy without. */
static entry *find_entry(struct pl_reshard_memo *memo, const entry *question, bool *known)
{
    entry **slot = &memo->slot[hash_entry(question) % MEMO_SLOTS];
    *known = true;
    for (entry *e = *slot; e; e = e->next)
        if (same_question(e, question)) return e;
    entry *e = PL_NEW(memo->arena, entry);
    *known = false;
    *e = *question;
    e->from = PL_NEW_N(memo->arena, pl_placement, e->n + 1);
    memcpy(e->from, question->from, (size_t)(e->n + 1) * sizeof *e->from);
    e->next = *slot;
    *slot = e;
    return e;
}

static void keep_path(entry *e, pl_arena *arena, const pl_path *path)
{
    e->n_moves = path->n;
    e->bytes = path->bytes, e->seconds = path->seconds;
    e->move = PL_NEW_N(arena, pl_move, path->n + 1);
    memcpy(e->move, path->move, (size_t)path->n * sizeof *e->move);
}

static bool refuse(const pl_reshard *r, const entry *e, pl_err *err)
{
    pl_arena *a = pl_arena_new("message");
    const char *from = e->n ? pl_placement_text(a, &e->from[0], r->mesh, e->shape.rank) : "nothing";
    const char *to = pl_placement_text(a, &e->from[e->n], r->mesh, e->shape.rank);
    const char *type = pl_shape_text(a, e->type, &e->shape);
    bool window = false;
    for (int i = 0; i <= e->n; i++) window |= pl_halo_is_end(&e->from[i]);
    pl_err_set(err, PL_EUNSUPPORTED, "no messages turn %s of %s%s into %s%s", from, type,
               e->n > 1 ? " (or other placements)" : "", to,
               window ? ": the parts of windows do not have all of it"
                      : ": what is whole does not become partial");
    pl_arena_free(a);
    return false;
}

bool pl_reshard_find(pl_reshard *r, pl_type type, const pl_shape *shape, int n,
                     const pl_placement from[], const pl_placement *to, int *which, pl_path *path,
                     pl_err *err)
{
    pl_placement ends[PL_MAX_SOURCES + 1];
    bool known;
    PL_ASSERT_CMP(n, <=, PL_MAX_SOURCES);
    *path = (pl_path){ 0 };
    ends[n] = pl_placement_normal(to, r->mesh, shape);
    for (*which = 0; *which < n; ++*which) {
        ends[*which] = pl_placement_normal(&from[*which], r->mesh, shape);
        if (pl_placement_same(&ends[*which], &ends[n])) return true;
    }
    entry question = { .type = type,
                       .shape = *shape,
                       .n = n,
                       .from = ends,
                       .most_bytes = r->most_bytes,
                       .no_strided = r->no_strided,
                       .mask = r->mask };
    entry *e = find_entry(r->memo, &question, &known);
    if (!known) {
        if (search_path(r, type, shape, n, ends, &ends[n], which, path))
            keep_path(e, r->memo->arena, path), e->which = *which;
        else
            e->which = -1;
    }
    if (e->which < 0) return refuse(r, e, err);
    *which = e->which;
    path->n = e->n_moves, path->bytes = e->bytes, path->seconds = e->seconds;
    memcpy(path->move, e->move, (size_t)e->n_moves * sizeof *e->move);
    return true;
}
